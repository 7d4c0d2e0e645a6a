// expect: fila: Context::transaction() exists under InTransaction only
// also: fila: BatchContext::transaction() exists under InTransaction only
#include "parts.hpp"

int main() {
    JobStore store;
    fila::Processor one{store, fila::InlineExecutor{}, [](Job const&, fila::Context& context) {
#ifdef FILA_EXPECT_ERROR
                            context.transaction();
#else
                            (void)context.attempt();
#endif
                        }};
    fila::Processor many{store, fila::InlineExecutor{},
                         [](std::span<Job const>, fila::BatchContext& context) {
#ifdef FILA_EXPECT_ERROR
                             context.transaction();
#else
                             (void)context.attempt(0);
#endif
                         }};
}
