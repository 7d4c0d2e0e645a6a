// expect: fila handler: must return nothing or a fila::Outcome (of a span: nothing, or a range with one
#include "parts.hpp"

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, [](std::span<Job const> jobs) {
#ifdef FILA_EXPECT_ERROR
                          return jobs.empty() ? fila::discard() : fila::complete();
#else
                          return std::vector<fila::Outcome>(jobs.size());
#endif
                      }};
}
