// SPDX-License-Identifier: MIT
// TaskQueue: what the workers of a pool share.
#pragma once

#include <fila/detail/list.hpp>
#include <fila/executor/task.hpp>

#include <condition_variable>
#include <mutex>

namespace fila::inline v1::detail {

class TaskQueue {
public:
    void push(Task task) {
        {
            std::lock_guard lock{mutex_};
            tasks_.push(task);
        }
        ready_.notify_one();
    }
    /// Workers end when nothing is left: what was accepted is run.
    void close() noexcept {
        {
            std::lock_guard lock{mutex_};
            closed_ = true;
        }
        ready_.notify_all();
    }
    void work() noexcept {
        std::unique_lock lock{mutex_};
        for (;;) {
            ready_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            Task const task = tasks_.front();
            tasks_.pop();
            lock.unlock();
            task();
            lock.lock();
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable ready_;
    Queue<Task> tasks_;
    bool closed_ = false;
};

}  // namespace fila::inline v1::detail
