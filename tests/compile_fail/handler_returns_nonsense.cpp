// expect: fila handler: must return nothing or a fila::Outcome
// expect: fila handler: must return nothing or a fila::Outcome (of a span: nothing, or a range with one
#include "parts.hpp"

int main() {
    JobStore store;
    fila::Processor one{store, fila::InlineExecutor{}, [](Job const& job) {
#if FILA_EXPECT_ERROR == 1
                            return job.number == 0;
#else
                            return job.number == 0 ? fila::complete() : fila::discard();
#endif
                        }};
    fila::Processor many{store, fila::InlineExecutor{}, [](std::span<Job const> jobs) {
#if FILA_EXPECT_ERROR == 2
                             return jobs.empty() ? fila::discard() : fila::complete();
#else
                             return std::vector<fila::Outcome>(jobs.size());
#endif
                         }};
}
