// expect: fila: Context::transaction() exists under InTransaction only
#include "parts.hpp"

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, [](Job const&, fila::Context& context) {
#ifdef FILA_EXPECT_ERROR
                          context.transaction();
#else
                          (void)context.attempt();
#endif
                      }};
}
