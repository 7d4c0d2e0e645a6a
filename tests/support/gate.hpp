// SPDX-License-Identifier: MIT
// Gate: holds handlers where a test wants them, but not for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace fila_tests {

class Gate {
public:
    /// Waits until the gate is open. False: the budget is used up, which only happens in a broken program.
    bool pass(std::chrono::seconds budget = std::chrono::seconds{30}) {
        std::unique_lock lock{mutex_};
        ++arrived_;
        bool const passed = opened_.wait_for(lock, budget, [this] { return open_; });
        ++left_;
        return passed;
    }
    void open() {
        std::lock_guard lock{mutex_};
        open_ = true;
        opened_.notify_all();
    }
    [[nodiscard]] int arrived() const { return arrived_; }
    [[nodiscard]] int inside() const { return arrived_ - left_; }

private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool open_ = false;
    std::atomic<int> arrived_{0}, left_{0};
};

/// Opens the gate at the end of a test, also of one that failed: declare it after what waits for handlers.
class OpenAtEnd {
public:
    explicit OpenAtEnd(Gate& gate) : gate_{gate} {}
    OpenAtEnd(OpenAtEnd const&) = delete;
    OpenAtEnd& operator=(OpenAtEnd const&) = delete;
    ~OpenAtEnd() { gate_.open(); }

private:
    Gate& gate_;
};

}  // namespace fila_tests
