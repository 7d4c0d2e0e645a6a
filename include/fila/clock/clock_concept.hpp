// SPDX-License-Identifier: MIT
// Clock: time, and waiting. Everything in the engine that waits, waits on one, so that a simulation can own time.
//
// | expression | returns | semantics |
// |---|---|---|
// | `c.now()` | `TimePoint` | steady: never goes back. From any thread |
// | `c.wait_until(lock, cv, t)` | `void` | waits on `cv` under `lock`; returns when notified, at `t`, or for no reason. `TimePoint::max()`: no time limit |
//
// Neither throws. A copyable handle: copies share the time.
#pragma once

#include <fila/types/time.hpp>

#include <concepts>
#include <condition_variable>
#include <mutex>

namespace fila::inline v1 {

struct clock_role;

template <class C>
concept HasNow = requires(C const& c) {
    { c.now() } -> std::same_as<TimePoint>;
};
template <class C>
concept HasWaitUntil = requires(C& c, std::unique_lock<std::mutex>& lock, std::condition_variable& cv, TimePoint t) {
    { c.wait_until(lock, cv, t) } -> std::same_as<void>;
};
template <class C>
concept Clock = std::copyable<C> && HasNow<C> && HasWaitUntil<C>;

namespace detail {

template <class C>
consteval bool check_clock() {
    static_assert(std::copyable<C>, "fila clock: must be copyable (a handle; copies share the time)");
    static_assert(HasNow<C>, "fila clock: needs  fila::TimePoint now() const");
    static_assert(HasWaitUntil<C>,
                  "fila clock: needs  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, "
                  "fila::TimePoint)");
    return true;
}

}  // namespace detail
}  // namespace fila::inline v1
