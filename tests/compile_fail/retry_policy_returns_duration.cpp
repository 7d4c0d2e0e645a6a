// expect: fila retry policy: needs  fila::Outcome decide(fila::Failure const&) const
#include "parts.hpp"

struct Retry {
    using policy_role = fila::retry_role;
#ifdef FILA_EXPECT_ERROR
    fila::Duration decide(fila::Failure const&) const { return {}; }
#else
    fila::Outcome decide(fila::Failure const& failure) const { return fila::dead_letter(failure.what); }
#endif
};

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, work, Retry{}};
}
