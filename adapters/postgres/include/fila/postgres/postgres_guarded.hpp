// SPDX-License-Identifier: MIT
// GuardedConnection: the one way into libpqxx. What is thrown there comes out as an Error, and a connection that
// breaks is lost for ever.
#pragma once

#include <fila/postgres/postgres_config.hpp>
#include <fila/postgres/postgres_errors.hpp>
#include <fila/postgres/postgres_pqxx.hpp>
#include <fila/postgres/postgres_reply_watch.hpp>

#include <memory>
#include <string>
#include <utility>

namespace fila::inline v1::postgres::detail {

/// One thread at a time.
class GuardedConnection {
public:
    /// Throws ConfigError for a configuration that makes no sense, Error if the server cannot be had.
    explicit GuardedConnection(Config const& config)
        : connection_{open(config)}, line_{connection_->sock(), config.longest_call()} {}

    [[nodiscard]] bool lost() const noexcept { return lost_; }

protected:
    /// Every call into libpqxx goes through here.
    template <class F>
    auto guarded(Doing doing, F&& call) -> decltype(call()) {
        if (lost_)
            throw Error{"fila postgres: this connection was lost", {.retryable = true, .code = "08003"}};
        try {
            ReplyWatch::Call const watched{unhurried_ ? nullptr : &line_};
            return call();
        } catch (...) {
            bool const silent = line_.given_up();
            auto failure = current_failure(doing, silent ? line_.silence() : std::string{});
            lost_ = lost_ || failure.connection_lost || silent;
            stale_ = failure.stale_plan;
            failed_ = true;
            throw std::move(failure.error);
        }
    }

    std::unique_ptr<pqxx::connection> connection_;
    bool lost_ = false;
    bool stale_ = false;      ///< the latest failure was a stale plan's
    bool failed_ = false;     ///< an open transaction can only be rolled back
    bool unhurried_ = false;  ///< DDL takes what it takes

private:
    static std::unique_ptr<pqxx::connection> open(Config const& config) {
        config.validate();
        try {
            return bridge::connect(with_defaults(config.conninfo));
        } catch (...) {
            throw current_failure(Doing::connecting).error;
        }
    }

    ReplyWatch::Line line_;
};

}  // namespace fila::inline v1::postgres::detail
