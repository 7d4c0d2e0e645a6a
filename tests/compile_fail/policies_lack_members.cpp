// expect: fila clock: must be copyable (a handle; copies share the time)
// also: fila clock: needs  fila::TimePoint now() const
// also: fila clock: needs  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, fila::TimePoint)
// expect: fila limiter: needs  std::size_t acquire(std::size_t)
// also: fila limiter: needs  void release(std::size_t)
// expect: fila observer: must be callable with at least one event, such as  void operator()(fila::RowFailed const&)
// expect: fila retry policy: needs  fila::Outcome decide(fila::Failure const&) const
// expect: fila: a policy must be movable: the Processor keeps it
#include "parts.hpp"
#include <fila/clock.hpp>
#include <fila/limiter.hpp>

#if FILA_EXPECT_ERROR == 1
struct Clock {
    using policy_role = fila::clock_role;
    Clock() = default;
    Clock(Clock&&) = default;
};
#else
using Clock = fila::ManualClock;
#endif

struct Limiter {
    using policy_role = fila::limiter_role;
#if FILA_EXPECT_ERROR == 2
    bool acquire(std::size_t rows) { return rows == 0; }
#else
    std::size_t acquire(std::size_t rows) { return rows; }
    void release(std::size_t) {}
#endif
};

struct Observer {
    using policy_role = fila::observer_role;
#if FILA_EXPECT_ERROR == 3
    void operator()(int) const {}
#else
    void operator()(fila::RowFailed const&) const {}
#endif
};

struct Retry {
    using policy_role = fila::retry_role;
#if FILA_EXPECT_ERROR == 4
    fila::Duration decide(fila::Failure const&) const { return {}; }
#else
    fila::Outcome decide(fila::Failure const& failure) const { return fila::dead_letter(failure.what); }
#endif
#if FILA_EXPECT_ERROR == 5
    Retry() = default;
    Retry(Retry const&) = delete;
#endif
};

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, work, Observer{}, Limiter{}, Clock{}, Retry{}};
}
