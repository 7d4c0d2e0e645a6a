// SPDX-License-Identifier: MIT
// What each concept accepts at the least, and what it refuses: one slip a type. All of it is checked by the
// compiler; the test case is there to be counted.
#include "support/catch.hpp"
#include <fila/clock.hpp>
#include <fila/executor.hpp>
#include <fila/limiter.hpp>
#include <fila/observer.hpp>
#include <fila/retry.hpp>

namespace {

namespace executor {
struct Archetype {
    void execute(fila::Task);
    std::size_t concurrency() const;
};
struct NoExecute {
    std::size_t concurrency() const;
};
struct NoConcurrency {
    void execute(fila::Task);
};
struct ExecutesOtherThings {
    void execute(int);
    std::size_t concurrency() const;
};
struct ExecuteReturns {
    bool execute(fila::Task);
    std::size_t concurrency() const;
};
struct ConcurrencyIsInt {
    void execute(fila::Task);
    int concurrency() const;
};
struct ConcurrencyIsNotConst {
    void execute(fila::Task);
    std::size_t concurrency();
};
struct Driving : Archetype {
    void drive(std::span<fila::detail::Lane* const>);
};
static_assert(fila::Executor<Archetype>);
static_assert(fila::Executor<fila::InlineExecutor> && fila::Executor<fila::ThreadPool>);
static_assert(!fila::Executor<NoExecute>);
static_assert(!fila::Executor<NoConcurrency>);
static_assert(!fila::Executor<ExecutesOtherThings>);
static_assert(!fila::Executor<ExecuteReturns>);
static_assert(!fila::Executor<ConcurrencyIsInt>);
static_assert(!fila::Executor<ConcurrencyIsNotConst>);
static_assert(fila::DrivingExecutor<Driving>);
static_assert(!fila::DrivingExecutor<Archetype>);
static_assert(!fila::DrivingExecutor<fila::ThreadPool> && !fila::DrivingExecutor<fila::InlineExecutor>);
}  // namespace executor

namespace limiter {
struct Archetype {
    std::size_t acquire(std::size_t);
    void release(std::size_t);
};
struct NoRelease {
    std::size_t acquire(std::size_t);
};
struct NoAcquire {
    void release(std::size_t);
};
struct AcquireSaysNothing {
    void acquire(std::size_t);
    void release(std::size_t);
};
struct AcquireSaysBool {
    bool acquire(std::size_t);
    void release(std::size_t);
};
struct AcquireTakesNothing {
    std::size_t acquire();
    void release(std::size_t);
};
static_assert(fila::Limiter<Archetype>);
static_assert(fila::Limiter<fila::FixedLimiter> && fila::Limiter<fila::Unlimited>);
static_assert(!fila::Limiter<NoRelease>);
static_assert(!fila::Limiter<NoAcquire>);
static_assert(!fila::Limiter<AcquireSaysNothing>);
static_assert(!fila::Limiter<AcquireSaysBool>);
static_assert(!fila::Limiter<AcquireTakesNothing>);
}  // namespace limiter

namespace retry {
struct Archetype {
    fila::Outcome decide(fila::Failure const&) const;
};
struct NoDecide {};
struct NotConst {
    fila::Outcome decide(fila::Failure const&);
};
struct ReturnsDuration {
    fila::Duration decide(fila::Failure const&) const;
};
struct TakesAttempt {
    fila::Outcome decide(int) const;
};
static_assert(fila::RetryPolicy<Archetype>);
static_assert(fila::RetryPolicy<fila::NoRetry> && fila::RetryPolicy<fila::NextPass>);
static_assert(fila::RetryPolicy<fila::FixedDelay> && fila::RetryPolicy<fila::ExponentialBackoff>);
static_assert(!fila::RetryPolicy<NoDecide>);
static_assert(!fila::RetryPolicy<NotConst>);
static_assert(!fila::RetryPolicy<ReturnsDuration>);
static_assert(!fila::RetryPolicy<TakesAttempt>);
}  // namespace retry

namespace clock_ {
struct Archetype {
    fila::TimePoint now() const;
    void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, fila::TimePoint);
};
struct NoNow {
    void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, fila::TimePoint);
};
struct NoWait {
    fila::TimePoint now() const;
};
struct WallClock {  // the date may jump
    std::chrono::system_clock::time_point now() const;
    void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, fila::TimePoint);
};
struct CannotBeCopied : Archetype {
    CannotBeCopied(CannotBeCopied&&) = default;
};
struct WaitSaysStatus {
    fila::TimePoint now() const;
    std::cv_status wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, fila::TimePoint);
};
static_assert(fila::Clock<Archetype>);
static_assert(fila::Clock<fila::SystemClock> && fila::Clock<fila::ManualClock>);
static_assert(!fila::Clock<NoNow>);
static_assert(!fila::Clock<NoWait>);
static_assert(!fila::Clock<WallClock>);
static_assert(!fila::Clock<CannotBeCopied>);
static_assert(!fila::Clock<WaitSaysStatus>);
}  // namespace clock_

namespace observer {
struct Archetype {
    void operator()(fila::Stopping const&);
};
struct HearsNothing {};
struct HearsOtherThings {
    void operator()(int);
};
struct WantsToChangeIt {
    void operator()(fila::RowsClaimed&);
};
struct NamedMember {
    void on_failure(fila::RowFailed const&);
};
static_assert(fila::Observer<Archetype>);
static_assert(fila::Observer<void (*)(fila::Faulted const&)>);
static_assert(fila::Observer<fila::NullObserver> && fila::Observer<fila::CountingObserver>);
static_assert(!fila::Observer<HearsNothing>);
static_assert(!fila::Observer<HearsOtherThings>);
static_assert(!fila::Observer<WantsToChangeIt>);
static_assert(!fila::Observer<NamedMember>);
}  // namespace observer

static_assert(std::is_empty_v<fila::InlineExecutor> && std::is_empty_v<fila::Unlimited> &&
                  std::is_empty_v<fila::NullObserver> && std::is_empty_v<fila::SystemClock> &&
                  std::is_empty_v<fila::NoRetry> && std::is_empty_v<fila::NextPass>,
              "policies without state cost nothing");

}  // namespace

TEST_CASE("the concepts accept their archetypes and refuse near misses") { SUCCEED("it compiles"); }
