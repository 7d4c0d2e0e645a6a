// SPDX-License-Identifier: MIT
// JoiningThreads: threads that are joined by whoever destroys them, even if that is one of them.
#pragma once

#include <fila/detail/list.hpp>

#include <cstddef>
#include <thread>
#include <utility>

namespace fila::inline v1::detail {

class JoiningThreads {
public:
    JoiningThreads() = default;
    JoiningThreads(JoiningThreads&&) noexcept = default;
    JoiningThreads& operator=(JoiningThreads&& o) noexcept {
        join();
        threads_ = std::move(o.threads_);
        return *this;
    }
    ~JoiningThreads() { join(); }

    void reserve(std::size_t n) { threads_.reserve(n); }
    void add(std::thread t) { threads_.push_back(std::move(t)); }

private:
    /// A thread cannot wait for its own end: it is let go, and what it still uses must not be ours alone.
    void join() noexcept {
        for (auto& t : threads_) {
            if (!t.joinable()) continue;
            if (t.get_id() == std::this_thread::get_id())
                t.detach();
            else
                t.join();
        }
        threads_.clear();
    }
    List<std::thread> threads_;
};

}  // namespace fila::inline v1::detail
