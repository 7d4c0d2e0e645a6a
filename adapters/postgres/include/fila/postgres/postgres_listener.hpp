// SPDX-License-Identifier: MIT
// Listener: hears of rows that other processes enqueue, by LISTEN on a connection of its own.
//
// News may be lost: while there is no connection, and in the moment before LISTEN. So it says "there may be work"
// each time that it has begun to listen, and polling goes on beside it. The connection is never in a transaction
// and always read, or the server's queue of notifications would fill up; now and then it is asked for a sign of
// life, since a peer that vanished says nothing. The thread waits for the socket and for its end by itself:
// libpqxx's own wait cannot be ended from outside.
#pragma once

#include <fila/executor/detail/signals_blocked.hpp>
#include <fila/postgres/postgres_config.hpp>
#include <fila/postgres/postgres_pqxx.hpp>
#include <fila/postgres/postgres_reply_watch.hpp>
#include <fila/table/table_name.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace fila::inline v1::postgres::detail {

/// Ends, with its thread, when it is destroyed; that takes a moment, or as long as a connection attempt that is
/// under way (connect_timeout).
class Listener {
public:
    /// `wake` is called on a thread of its own; it must not throw.
    Listener(Config config, std::string channel, std::function<void()> wake)
        : config_{std::move(config)}, channel_{std::move(channel)}, wake_{std::move(wake)} {
        if (::pipe(end_) != 0)
            throw std::system_error{errno, std::generic_category(),
                                    "fila postgres: no pipe for the listener"};
        for (int const fd : end_) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        try {
            fila::detail::SignalsBlocked const blocked;
            thread_ = std::thread{[this] { serve(); }};
        } catch (...) {
            ::close(end_[0]), ::close(end_[1]);
            throw;
        }
    }
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;
    ~Listener() {
        ::close(end_[1]);
        thread_.join();
        ::close(end_[0]);
    }

private:
    using Milliseconds = std::chrono::milliseconds;
    enum class Heard { something, nothing, end };

    void serve() noexcept {
        for (auto pause = shortest;; pause = std::min(2 * pause, longest)) {
            try {
                auto const connection = bridge::connect(with_defaults(config_.conninfo));
                ReplyWatch::Line line{connection->sock(), config_.longest_call()};
                {
                    ReplyWatch::Call const call{&line};
                    pqxx::nontransaction{*connection}.exec("LISTEN " + fila::detail::quote_name(channel_));
                }
                pause = shortest;
                wake_();  // for what came before
                if (hear(*connection, line) == Heard::end) return;
            } catch (...) {
                // Polling finds the rows meanwhile, and says what is wrong with the server.
            }
            if (wait(-1, pause) == Heard::end) return;
        }
    }
    Heard hear(pqxx::connection& connection, ReplyWatch::Line& line) {
        for (;;) {
            auto const heard = wait(connection.sock(), sign_of_life);
            if (heard == Heard::end) return heard;
            ReplyWatch::Call const call{&line};
            if (heard == Heard::nothing) pqxx::nontransaction{connection}.exec("SELECT 1");
            // What came in together with that answer libpqxx has thrown away: so it wakes too.
            if (connection.get_notifs() > 0 || heard == Heard::nothing) wake_();
            if (!connection.is_open()) return Heard::nothing;
        }
    }
    /// Until there is something to read (of a socket of -1, never), or the time is over, or we are to end.
    [[nodiscard]] Heard wait(int socket, Milliseconds time) const noexcept {
        pollfd fds[]{{end_[0], POLLIN, 0}, {socket, POLLIN, 0}};
        auto const until = std::chrono::steady_clock::now() + time;
        for (;;) {
            auto const left = std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now());
            int const n = ::poll(fds, 2, static_cast<int>(std::max<Milliseconds::rep>(0, left.count())));
            if (n < 0 && errno == EINTR) continue;
            if (fds[0].revents != 0) return Heard::end;
            if (n > 0) return Heard::something;
            if (left.count() <= 0) return Heard::nothing;
        }
    }

    static constexpr Milliseconds shortest{100}, longest{30'000}, sign_of_life{30'000};

    Config const config_;
    std::string const channel_;
    std::function<void()> const wake_;
    int end_[2]{-1, -1};  ///< a pipe: the thread's end is readable once the other is closed
    std::thread thread_;  ///< last: it uses the others
};

}  // namespace fila::inline v1::postgres::detail
