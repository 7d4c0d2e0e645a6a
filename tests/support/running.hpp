// SPDX-License-Identifier: MIT
// Running: a processor's run or drain on a thread of its own, and what came of it.
#pragma once

#include "support/eventually.hpp"
#include <fila/processor/report.hpp>

#include <atomic>
#include <exception>
#include <stop_token>
#include <thread>

namespace fila_tests {

/// Stops the run and waits for it when it goes out of scope, so that a failed assertion ends a test and does
/// not hang it. (Handlers that wait must do so with a budget.)
class Running {
public:
    template <class P>
    explicit Running(P& processor) {
        thread_ =
            std::thread{[this, &processor] { conduct([&] { return processor.run(stop_.get_token()); }); }};
    }
    template <class P>
    Running(P& processor, fila::DrainOptions options) {
        thread_ = std::thread{[this, &processor, options] {
            conduct([&] { return processor.drain(stop_.get_token(), options); });
        }};
    }
    Running(Running const&) = delete;
    Running& operator=(Running const&) = delete;
    ~Running() { (void)end(); }

    void request_stop() { stop_.request_stop(); }
    [[nodiscard]] bool over() const { return over_.load(); }
    /// Waits for the end; what the run threw is thrown here.
    fila::Report wait() {
        join();
        if (error_) std::rethrow_exception(error_);
        return report_;
    }
    fila::Report stop() {
        request_stop();
        return wait();
    }

private:
    template <class Conduct>
    void conduct(Conduct run) {
        try {
            report_ = run();
        } catch (...) {
            error_ = std::current_exception();
        }
        over_ = true;
    }
    void join() {
        if (thread_.joinable()) thread_.join();
    }
    bool end() noexcept {
        request_stop();
        join();
        return !error_;
    }

    std::stop_source stop_;
    fila::Report report_;
    std::exception_ptr error_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

/// What each run must have kept account of.
[[nodiscard]] inline bool adds_up(fila::Report const& r) {
    return r.claimed == r.settled() + r.lost + r.in_doubt + r.unsettled + r.abandoned;
}

}  // namespace fila_tests
