// SPDX-License-Identifier: MIT
// The prepared statements of one session.
#pragma once

#include <fila/postgres/postgres_errors.hpp>
#include <fila/postgres/postgres_pqxx.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1::postgres::detail {

/// By their text. Throws what libpqxx throws. One thread at a time.
class PreparedStatements {
public:
    explicit PreparedStatements(pqxx::connection& connection) noexcept : connection_{connection} {}

    /// Prepares it, if it is not: one round trip then.
    std::string const& name(std::string const& text) { return known(text)->second; }
    /// `call(name)`. A statement that no longer fits the table, or is gone, is made anew the next time.
    template <class F>
    pqxx::result with(std::string const& text, F const& call) {
        auto const statement = known(text);
        try {
            return call(std::as_const(statement->second));
        } catch (pqxx::sql_error const& e) {
            if (stale_plan(bridge::sqlstate(e), e.what())) {
                stale_.push_back(std::move(statement->second));
                known_.erase(statement);
            }
            throw;
        }
    }
    [[nodiscard]] bool some_are_stale() const noexcept { return !stale_.empty(); }
    /// Outside any transaction: a failed one would refuse.
    void drop_stale() {
        while (!stale_.empty()) {
            auto const name = std::move(stale_.back());
            stale_.pop_back();
            try {
                connection_.unprepare(name);
            } catch (pqxx::sql_error const&) {
                // The server no longer knows it: gone, as wished.
            }
        }
    }

private:
    using Names = std::map<std::string, std::string, std::less<>>;

    Names::iterator known(std::string const& text) {
        auto statement = known_.find(text);
        if (statement == known_.end()) {
            auto name = "fila_" + std::to_string(++so_far_);
            bridge::prepare(connection_, name, text);
            statement = known_.emplace(text, std::move(name)).first;
        }
        return statement;
    }

    pqxx::connection& connection_;
    Names known_;
    std::vector<std::string> stale_;
    std::uint64_t so_far_ = 0;
};

}  // namespace fila::inline v1::postgres::detail
