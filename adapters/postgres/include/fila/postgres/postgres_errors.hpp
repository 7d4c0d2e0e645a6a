// SPDX-License-Identifier: MIT
// From libpqxx's exceptions to fila::Error: the one place where they are told apart, and the policy by
// SQLSTATE.
//
// | what happened | SQLSTATE | retryable | maybe applied | connection |
// |---|---|---|---|---|
// | serialization failure, deadlock | 40001, 40P01 | yes | no | kept |
// | lock not available in time | 55P03 | yes | no | kept |
// | statement cancelled or timed out | 57014 | yes | no | kept |
// | server shuts down, crashes, starts up | 57P01 … 57P05 | yes | no | lost |
// | too many connections, memory, disk | 53xxx | yes | no | kept |
// | read-only: a standby after a failover | 25006 | yes | no | lost, so that the next one finds the primary |
// | idle or transaction time-out of the server | 25P03, 25P04 | yes | no | lost |
// | connection lost, nothing sent yet or inside a transaction | 08xxx | yes | no | lost |
// | connection lost under a statement of its own, or under COMMIT | 08xxx | yes | **yes** | lost |
// | a prepared statement that no longer fits the table | 0A000, 26000 | yes | no | kept, the statement is dropped |
// | all else: the statement, the data or the rights are wrong | 22, 23, 42, … | no | no | kept |
//
// What does not come from the server at all (a misused transaction object, no memory) loses the connection:
// its state is unknown.
#pragma once

#include <fila/postgres/postgres_pqxx.hpp>
#include <fila/types/error.hpp>

#include <exception>
#include <string>
#include <string_view>

namespace fila::inline v1::postgres {

/// What was under way when something was thrown; it decides whether that may have taken effect.
enum class Doing : std::uint8_t {
    connecting,      ///< nothing can have happened
    statement,       ///< one statement, its own transaction
    in_transaction,  ///< lost connections roll back
    committing,      ///< a lost connection leaves it open whether it happened
    finishing,       ///< a last statement and the commit behind it: the same
};

/// What libpqxx threw, in our words.
struct Failure {
    Error error;                   ///< what the store throws
    bool connection_lost = false;  ///< the connection is not to be used again
    bool stale_plan = false;       ///< the prepared statement must be dropped; then the same call succeeds
};

namespace detail {

inline bool stale_plan(std::string_view code, std::string_view message) noexcept {
    return code == "26000" || (code == "0A000" && message.find("cached plan") != std::string_view::npos);
}
inline bool loses_connection(std::string_view code) noexcept {
    return code.starts_with("08") || code.starts_with("57P") || code == "25006" || code == "25P03" ||
           code == "25P04";
}
inline bool retryable(std::string_view code) noexcept {
    return code.starts_with("40") || code.starts_with("53") || code == "55P03" || code == "57014" ||
           loses_connection(code);
}

inline std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    return text;
}
inline std::string_view words(Doing doing) noexcept {
    switch (doing) {
        case Doing::connecting:
            return "cannot connect";
        case Doing::committing:
            return "commit failed";
        case Doing::finishing:
            return "statement or commit failed";
        case Doing::statement:
        case Doing::in_transaction:
            break;
    }
    return "statement failed";
}

}  // namespace detail

/// Translates the exception being handled: call it in a `catch` of everything. `why`: what is said instead of
/// libpqxx's words, where we know better.
inline Failure current_failure(Doing doing, std::string_view why = {}) {
    auto const make = [&](std::string_view message, std::string code, bool retryable, bool maybe, bool lost) {
        auto what = "fila postgres: " + std::string{detail::words(doing)} + ": " +
                    std::string{why.empty() ? detail::trimmed(message) : why};
        if (!code.empty()) what += " [SQLSTATE " + code + "]";
        bool const stale = detail::stale_plan(code, message);
        return Failure{
            Error{what, {.retryable = retryable || stale, .maybe_applied = maybe, .code = std::move(code)}},
            lost, stale};
    };
    bool const unanswered = doing != Doing::connecting && doing != Doing::in_transaction;
    try {
        throw;
    } catch (Error const& e) {
        return {e, false, false};
    } catch (pqxx::in_doubt_error const& e) {
        return make(e.what(), "08007", true, true, true);
    } catch (pqxx::broken_connection const& e) {
        auto code = bridge::sqlstate(e);
        if (code.empty()) code = doing == Doing::connecting ? "08001" : "08006";
        return make(e.what(), std::move(code), true, unanswered, true);
    } catch (std::exception const& e) {
        auto code = bridge::sqlstate(e);
        if (code.empty()) return make(e.what(), {}, false, false, true);
        bool const unknown = code == "40003" || (code.starts_with("08") && unanswered);
        bool const lost = detail::loses_connection(code);
        bool const retryable = detail::retryable(code);
        return make(e.what(), std::move(code), retryable, unknown, lost);
    } catch (...) {
        return make("something that is not a std::exception was thrown", {}, false, false, true);
    }
}

}  // namespace fila::inline v1::postgres
