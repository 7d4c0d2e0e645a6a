// SPDX-License-Identifier: MIT
// ReplyWatch: gives up connections whose server neither answers nor hangs up.
//
// libpq waits for an answer without a limit of its own, and no server-side time-out, keepalive or
// tcp_user_timeout helps where the other end acknowledges and says nothing: a frozen server, a proxy that
// lost its way. So one thread a process looks after the calls under way, and shuts the socket of one that is
// over its limit: libpq then finds the connection closed, and reports that as it always does.
//
// It shuts a duplicate of the descriptor. libpq closes its own as soon as it finds a connection broken, and
// the number may be somebody else's a moment later.
#pragma once

#include <fila/executor/detail/signals_blocked.hpp>
#include <fila/table/connection_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#if __has_include(<sys/socket.h>)
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

namespace fila::inline v1::postgres::detail {

/// Thread safety: as many lines as one likes, from any thread; a line is used by one thread at a time.
class ReplyWatch {
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;

    /// Of one connection.
    struct Place {
        int socket;
        Clock::duration limit;
        std::atomic<Time> due{Time::max()};  ///< max: nothing is under way
        std::atomic<bool> given_up{false};
    };

public:
    /// What a connection holds. With a limit of zero it watches nothing.
    class Line {
    public:
        /// `socket` is duplicated.
        Line(int socket, std::chrono::milliseconds limit) {
#if __has_include(<sys/socket.h>)
            if (limit <= limit.zero()) return;
            int const mine = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
            if (mine < 0) return;  // no descriptor left: unwatched is better than not at all
            try {
                place_ = std::make_unique<Place>(mine, limit);
                watch_ = of_process();
                watch_->add(*place_);
            } catch (...) {
                ::close(mine);
                throw;
            }
#endif
        }
        Line(Line const&) = delete;
        Line& operator=(Line const&) = delete;
        ~Line() {
#if __has_include(<sys/socket.h>)
            if (!place_) return;
            watch_->remove(*place_);
            ::close(place_->socket);
#endif
        }

        void call_begins() noexcept {
            if (place_) place_->due.store(Clock::now() + place_->limit, std::memory_order_relaxed);
        }
        void call_ends() noexcept {
            if (place_) place_->due.store(Time::max(), std::memory_order_relaxed);
        }
        /// Whether the connection is closed because the server kept silent.
        [[nodiscard]] bool given_up() const noexcept {
            return place_ && place_->given_up.load(std::memory_order_relaxed);
        }

        [[nodiscard]] std::string silence() const {
            using std::chrono::milliseconds;
            auto const limit = std::chrono::duration_cast<milliseconds>(place_->limit).count();
            return "no answer in " + std::to_string(limit) +
                   " ms (statement_timeout and network_timeout): the server is frozen, or the network "
                   "swallows what is sent; its connection is given up";
        }

    private:
        std::unique_ptr<Place> place_;
        std::shared_ptr<ReplyWatch> watch_;
    };

    /// A call under way on a line; on none, it may take what it takes.
    class Call {
    public:
        explicit Call(Line* line) noexcept : line_{line} {
            if (line_) line_->call_begins();
        }
        Call(Call const&) = delete;
        Call& operator=(Call const&) = delete;
        ~Call() {
            if (line_) line_->call_ends();
        }

    private:
        Line* line_;
    };

    ReplyWatch() {
        fila::detail::SignalsBlocked const blocked;
        thread_ = std::thread{[this] { serve(); }};
    }
    ReplyWatch(ReplyWatch const&) = delete;
    ReplyWatch& operator=(ReplyWatch const&) = delete;
    ~ReplyWatch() {
        {
            std::lock_guard const lock{mutex_};
            ending_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

private:
    /// One for all connections, as long as there is one. A child of a fork does not have its parent's thread.
    static std::shared_ptr<ReplyWatch> of_process() {
        static std::mutex mutex;
        static std::weak_ptr<ReplyWatch> known;
        static long process = 0;
        std::lock_guard const lock{mutex};
        auto watch = process == fila::detail::process_id() ? known.lock() : nullptr;
        if (!watch) {
            watch = std::make_shared<ReplyWatch>();
            known = watch;
            process = fila::detail::process_id();
        }
        return watch;
    }
    void add(Place& place) {
        {
            std::lock_guard const lock{mutex_};
            places_.push_back(&place);
        }
        changed_.notify_one();
    }
    void remove(Place const& place) {
        std::lock_guard const lock{mutex_};
        std::erase(places_, &place);
    }

    void serve() {
        std::unique_lock lock{mutex_};
        while (!ending_) {
            auto const now = Clock::now();
            // A call that begins from now on is not due before its limit is over: so nobody need wake us.
            auto next = Time::max();
            for (auto* place : places_) next = std::min({next, now + place->limit, look(*place, now)});
            if (next == Time::max())
                changed_.wait(lock);
            else
                changed_.wait_until(lock, next);
        }
    }
    static Time look(Place& place, Time now) noexcept {
        auto const due = place.due.load(std::memory_order_relaxed);
        if (due > now) return due;
        place.due.store(Time::max(), std::memory_order_relaxed);
        place.given_up.store(true, std::memory_order_relaxed);
#if __has_include(<sys/socket.h>)
        ::shutdown(place.socket, SHUT_RDWR);
#endif
        return Time::max();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Place*> places_;
    bool ending_ = false;
    std::thread thread_;  ///< last: it uses the others
};

}  // namespace fila::inline v1::postgres::detail
