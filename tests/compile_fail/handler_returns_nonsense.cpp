// expect: fila handler: must return nothing or a fila::Outcome
#include "parts.hpp"

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, [](Job const& job) {
#ifdef FILA_EXPECT_ERROR
                          return job.number == 0;
#else
                          return job.number == 0 ? fila::complete() : fila::discard();
#endif
                      }};
}
