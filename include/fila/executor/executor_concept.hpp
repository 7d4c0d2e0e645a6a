// SPDX-License-Identifier: MIT
// Executor: where handlers run.
//
// | expression | returns | semantics |
// |---|---|---|
// | `e.execute(task)` | `void` | calls `task()` once, soon, on any thread. Called from several threads at once. Must not throw after it has accepted the task |
// | `e.concurrency()` | `std::size_t` | how many tasks run at once at most, fixed for the executor's life. 0: none, the caller of `drain` or `run` does the work |
//
// Any pool is an executor in four lines (asio):
//
//   struct AsioExecutor {
//       asio::thread_pool& pool; std::size_t threads;
//       void execute(fila::Task t) { asio::post(pool, t); }
//       std::size_t concurrency() const { return threads; }
//   };
//
// A DrivingExecutor runs the engine's own lanes too and so is the whole driver; a simulation is one.
#pragma once

#include <fila/executor/task.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace fila::inline v1 {

template <class E>
concept HasExecute = requires(E& e, Task t) {
    { e.execute(t) } -> std::same_as<void>;
};
template <class E>
concept HasConcurrency = requires(E const& e) {
    { e.concurrency() } -> std::same_as<std::size_t>;
};
template <class E>
concept Executor = HasExecute<E> && HasConcurrency<E>;

/// `drive(lanes)` steps every lane until all are done.
template <class E>
concept DrivingExecutor = Executor<E> && requires(E& e, std::span<detail::Lane* const> lanes) { e.drive(lanes); };

namespace detail {

template <class E>
consteval bool check_executor() {
    static_assert(HasExecute<E>, "fila executor: needs  void execute(fila::Task)");
    static_assert(HasConcurrency<E>, "fila executor: needs  std::size_t concurrency() const");
    return true;
}

}  // namespace detail
}  // namespace fila::inline v1
