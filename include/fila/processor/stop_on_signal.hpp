// SPDX-License-Identifier: MIT
// StopOnSignal: a stop token that Ctrl-C, or whoever ends the service, trips.
#pragma once

#include <fila/executor/detail/signals_blocked.hpp>
#include <fila/types/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <initializer_list>
#include <signal.h>
#include <stop_token>
#include <string>
#include <thread>

namespace fila::inline v1 {

/// Make one at the start of `main`, before any other thread. The signals are blocked in the calling thread,
/// and so in every thread that it starts later; one thread waits for them and requests the stop. So nothing
/// runs inside a signal handler, where neither a lock nor memory may be had. Signals after the first change
/// nothing: the stop is orderly, and takes the time that Pace gives it. POSIX with sigtimedwait
/// (Linux, the BSDs).
///
/// Destroy it on the thread that made it: the signals do there again what they did before.
/// Alternatives: any std::stop_token. Thread safety: `token` and `signal` from any thread.
///
///   fila::StopOnSignal stop{SIGINT, SIGTERM};
///   auto report = processor.run(stop.token());
///   return stop.signal() ? 128 + stop.signal() : 0;
class StopOnSignal {
public:
    /// Throws ConfigError for a signal that cannot be waited for, std::system_error if no thread can be had.
    StopOnSignal(std::initializer_list<int> signals) : signals_{checked(signals)} {
        pthread_sigmask(SIG_BLOCK, &signals_, &before_);
        try {
            detail::SignalsBlocked const blocked;
            waiter_ = std::thread{[this] { wait(); }};
        } catch (...) {
            pthread_sigmask(SIG_SETMASK, &before_, nullptr);
            throw;
        }
    }
    StopOnSignal(StopOnSignal const&) = delete;
    StopOnSignal& operator=(StopOnSignal const&) = delete;
    ~StopOnSignal() {
        ending_ = true;
        pthread_kill(waiter_.native_handle(), any_of(signals_));  // blocked there: it only ends the wait
        waiter_.join();
        drop_pending();
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

    /// Tripped by the first of the signals.
    [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }
    /// The number of the signal that requested the stop, 0 if none has come.
    [[nodiscard]] int signal() const noexcept { return signal_; }

private:
    void wait() {
        for (;;) {
            int got = 0;
            if (sigwait(&signals_, &got) != 0) continue;
            if (ending_) return;
            int none = 0;
            signal_.compare_exchange_strong(none, got);
            stop_.request_stop();
        }
    }
    /// An impatient second Ctrl-C that nobody waited for any more must not kill the process as it unblocks.
    void drop_pending() const noexcept {
        timespec const no_time{};
        while (sigtimedwait(&signals_, nullptr, &no_time) > 0) {}
    }
    static sigset_t checked(std::initializer_list<int> signals) {
        constexpr std::array never{SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
        std::string faults;
        if (signals.size() == 0) faults += "\n  StopOnSignal needs at least one signal, such as SIGTERM";
        sigset_t set;
        sigemptyset(&set);
        for (int const s : signals)
            if (std::ranges::find(never, s) != never.end() || sigaddset(&set, s) != 0)
                faults += "\n  StopOnSignal cannot wait for signal " + std::to_string(s);
        if (!faults.empty()) throw ConfigError{"fila: wrong configuration:" + faults};
        return set;
    }
    static int any_of(sigset_t const& set) noexcept {
        int s = 1;
        while (sigismember(&set, s) != 1) ++s;
        return s;
    }

    sigset_t signals_;
    sigset_t before_;
    std::stop_source stop_;
    std::atomic<int> signal_{0};
    std::atomic<bool> ending_{false};
    std::thread waiter_;  // last: uses the others
};

}  // namespace fila::inline v1
