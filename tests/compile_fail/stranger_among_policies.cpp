// expect: fila: an argument of the Processor is not a policy
#include "parts.hpp"

struct Stranger {
#ifndef FILA_EXPECT_ERROR
    using policy_role = fila::observer_role;
#endif
    void operator()(fila::Stopping const&) {}
};

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, work, Stranger{}};
}
