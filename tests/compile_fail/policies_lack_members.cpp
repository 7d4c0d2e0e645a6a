// expect: fila clock: must be copyable (a handle; copies share the time)
// also: fila clock: needs  fila::TimePoint now() const
// also: fila clock: needs  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, fila::TimePoint)
// also: fila limiter: needs  std::size_t acquire(std::size_t)
// also: fila limiter: needs  void release(std::size_t)
// also: fila observer: must be callable with at least one event
#include "parts.hpp"
#include <fila/clock.hpp>
#include <fila/limiter.hpp>

#ifdef FILA_EXPECT_ERROR
struct Clock {
    using policy_role = fila::clock_role;
    Clock() = default;
    Clock(Clock&&) = default;
};
struct Limiter {
    using policy_role = fila::limiter_role;
};
struct Observer {
    using policy_role = fila::observer_role;
    void operator()(int) const {}
};
#else
using Clock = fila::ManualClock;
using Limiter = fila::Unlimited;
using Observer = fila::NullObserver;
#endif

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, work, Observer{}, Limiter{}, Clock{}};
}
