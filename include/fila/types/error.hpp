// SPDX-License-Identifier: MIT
// fila::Error: the one root of what stores and the engine throw.
#pragma once

#include <fila/config.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace fila::inline v1 {

/// An unexpected failure of a store. It answers the two questions that a caller has: may I try again, and may
/// it have happened already? Expected results (nothing to claim, a lost lease) are values, never an Error.
class Error : public std::runtime_error {
public:
    /// What follows from the failure. The default: it did not happen, and would fail again.
    struct Traits {
        bool retryable =
            false;  ///< the same call may succeed later: a lost connection, a deadlock, a time-out
        bool maybe_applied = false;  ///< the answer was lost on the way: the statement may have taken effect
        std::string code{};          ///< the native code: a SQLSTATE, an SQLite result code; may be empty
    };

    /// Not retryable, not applied.
    explicit Error(std::string const& what) : Error{what, Traits{}} {}
    /// `what` is a sentence for a log.
    Error(std::string const& what, Traits traits) : std::runtime_error{what}, traits_{std::move(traits)} {}

    /// Whether the same call may succeed later.
    [[nodiscard]] bool retryable() const noexcept { return traits_.retryable; }
    /// Whether it may have taken effect all the same.
    [[nodiscard]] bool maybe_applied() const noexcept { return traits_.maybe_applied; }
    /// The database's own code; empty if it gave none.
    [[nodiscard]] std::string const& code() const noexcept { return traits_.code; }

private:
    Traits traits_;
};

/// The configuration is wrong. Thrown at construction only; lists every fault, each with what would mend it.
class ConfigError : public Error {
public:
    using Error::Error;
};

/// Thrown by a handler to end the whole run in order: no more claims, handlers in flight are told, rows not
/// started are given back with nothing spent, what finished is settled; then `drain` or `run` throws it on.
/// The row that threw it is settled as a failure. Derive from it to carry more.
class CriticalFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace fila::inline v1
