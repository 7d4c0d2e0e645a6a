// expect: fila: two claim strategies: give the Processor one
// also: fila: two clocks: give the Processor one
// also: fila: two limiters: give the Processor one
// also: fila: two retry policies: give the Processor one
// also: fila: two observers: give the Processor one, or a group of them
// also: fila: two paces: give the Processor one
// also: fila: two time limits: give the Processor one
#include "parts.hpp"
#include <fila/clock.hpp>
#include <fila/limiter.hpp>
#include <fila/observer.hpp>
#include <fila/retry.hpp>

int main() {
    JobStore store;
    fila::CountingObserver count;
    fila::FailureStream failures{8};
#ifdef FILA_EXPECT_ERROR
    fila::Processor p{store,
                      fila::InlineExecutor{},
                      work,
                      fila::Leased{},
                      fila::InTransaction{},
                      fila::SystemClock{},
                      fila::ManualClock{},
                      fila::FixedLimiter{8},
                      fila::Unlimited{},
                      fila::NoRetry{},
                      fila::NextPass{},
                      count,
                      failures,
                      fila::Pace{},
                      fila::Pace{},
                      fila::TimeLimit{},
                      fila::TimeLimit{}};
#else
    fila::Processor p{store,
                      fila::InlineExecutor{},
                      work,
                      fila::TimeLimit{},
                      fila::Pace{},
                      fila::observe(count, failures),
                      fila::NoRetry{},
                      fila::FixedLimiter{8},
                      fila::ManualClock{},
                      fila::Leased{}};
#endif
}
