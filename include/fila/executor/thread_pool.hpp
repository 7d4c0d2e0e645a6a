// SPDX-License-Identifier: MIT
// ThreadPool: a fixed number of threads of our own.
#pragma once

#include <fila/executor/detail/joining_threads.hpp>
#include <fila/executor/detail/signals_blocked.hpp>
#include <fila/executor/detail/task_queue.hpp>
#include <fila/executor/executor_concept.hpp>
#include <fila/types/error.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace fila::inline v1 {

/// Runs up to `threads` handlers at once; while handlers take less than some 20 µs, the thread that called
/// `drain` or `run` lends a hand. The threads are started at construction, and their number never
/// changes. Several processors may share one pool. For handlers that wait (HTTP, disks) take as many threads
/// as may wait at once; for handlers that compute, as many as there are cores. Alternatives: InlineExecutor;
/// a pool that the program has anyway (see executor_concept.hpp).
///
/// Tasks are started in the order in which they came. The destructor runs what was accepted, then joins. It
/// may run on a thread of the pool itself (a handler that lets go of the last owner): that thread is then
/// left to finish its task by itself. The threads block all signals but those of their own faults, so that a
/// signal handler of the program never interrupts a handler. Thread safety: every member may be called from
/// several threads at once; moving and destroying may not.
///
///   fila::ThreadPool pool{8};
///   fila::Processor p{store, pool, handler};
class ThreadPool {
public:
    /// More are taken for a slip: a negative number, or a count of rows.
    static constexpr std::size_t max_threads = 10'000;

    /// Throws ConfigError if `threads` is 0 or more than max_threads, std::system_error if the system gives
    /// no more threads; those that were started have ended by then.
    explicit ThreadPool(std::size_t threads)
        : ThreadPool{threads, [](auto work) { return std::thread{std::move(work)}; }} {}

    /// The same with threads made by `start(work)`: to name them, pin them, or give them a larger stack.
    template <class Start>
        requires std::is_invocable_r_v<std::thread, Start&, std::function<void()>>
    ThreadPool(std::size_t threads, Start start) : size_{checked(threads)} {
        detail::SignalsBlocked const blocked;
        try {
            threads_.reserve(threads);
            for (std::size_t i = 0; i < threads; ++i)
                threads_.add(start(std::function<void()>{[queue = queue_] { queue->work(); }}));
        } catch (...) {
            queue_->close();
            throw;
        }
    }
    ThreadPool(ThreadPool&&) noexcept = default;
    ThreadPool& operator=(ThreadPool&& o) noexcept {
        if (this != &o) {
            close();
            threads_ = std::move(o.threads_);
            queue_ = std::move(o.queue_);
            size_ = o.size_;
        }
        return *this;
    }
    ~ThreadPool() { close(); }

    /// Throws std::bad_alloc, and then has not accepted the task.
    void execute(Task task) { queue_->push(task); }
    [[nodiscard]] std::size_t concurrency() const noexcept { return size_; }

private:
    void close() noexcept {
        if (queue_) queue_->close();
    }
    static std::size_t checked(std::size_t threads) {
        if (threads == 0)
            throw ConfigError{
                "fila: wrong configuration:\n  ThreadPool::threads must be at least 1 (InlineExecutor runs "
                "handlers "
                "on the caller's thread)"};
        if (threads > max_threads)
            throw ConfigError{"fila: wrong configuration:\n  ThreadPool::threads must be at most " +
                              std::to_string(max_threads) + ", and is " + std::to_string(threads)};
        return threads;
    }

    // Shared with the threads: one of them may outlive the pool for the length of its task.
    std::shared_ptr<detail::TaskQueue> queue_ = std::make_shared<detail::TaskQueue>();
    std::size_t size_;
    detail::JoiningThreads threads_;
};
static_assert(Executor<ThreadPool> && std::movable<ThreadPool>);

}  // namespace fila::inline v1
