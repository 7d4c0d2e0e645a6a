// SPDX-License-Identifier: MIT
// LogObserver: one line of text an event, for a log of yours.
#pragma once

#include <fila/clock/system_clock.hpp>
#include <fila/observer/observer_concept.hpp>
#include <fila/types/error.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace fila::inline v1 {

/// How much a line matters, the least first.
enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// The enumerator's name.
[[nodiscard]] constexpr char const* to_string(LogLevel level) noexcept {
    switch (level) {
        case LogLevel::debug:
            return "debug";
        case LogLevel::info:
            return "info";
        case LogLevel::warning:
            return "warning";
        case LogLevel::error:
            return "error";
    }
    return "?";
}

/// What is said, and how often.
struct LogOptions {
    LogLevel level = LogLevel::info;  ///< nothing below it is said
    /// A fault that repeats the last one word by word is said again after this long, with the number left
    /// out.
    Duration repeat = std::chrono::seconds{10};
};

namespace detail {

constexpr char const* past_tense(Outcome::Kind kind) noexcept {
    switch (kind) {
        case Outcome::Kind::complete:
            return "completed";
        case Outcome::Kind::retry:
            return "will be retried";
        case Outcome::Kind::snooze:
            return "snoozed";
        case Outcome::Kind::release:
            return "released";
        case Outcome::Kind::discard:
            return "discarded";
        case Outcome::Kind::dead_letter:
            return "dead-lettered";
    }
    return "?";
}

/// One line, whatever is in it: an error text is foreign, and must not forge lines of a log.
inline std::string one_line(std::string_view s) {
    constexpr std::size_t limit = 500;
    std::string out;
    for (char const c : s.substr(0, limit))
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    if (s.size() > limit) out += "...";
    return out;
}

}  // namespace detail

/// `log(level, line)` is any callable; it is called by one thread at a time. Claims, settles and snoozes are
/// debug lines, failed attempts warnings, faults of the store warnings (errors if they cannot pass by
/// themselves). Rows are named by their keys; their contents are never written, but a handler's error text
/// is. A handle: copies share the log. Alternatives: CountingObserver, FailureStream, any callable of yours.
/// Thread safety: everything, from several threads at once.
///
///   fila::LogObserver log{[](fila::LogLevel level, std::string_view line) { spdlog::log(…); }};
template <class Log, Clock C = SystemClock>
    requires std::invocable<Log&, LogLevel, std::string_view>
class LogObserver {
public:
    using policy_role = observer_role;

    /// Throws ConfigError if `options.repeat` is negative.
    explicit LogObserver(Log log, LogOptions options = {}, C clock = {})
        : state_{std::make_shared<State>(std::move(log), checked(options), std::move(clock))} {}

    void operator()(RowsClaimed const& e) const {
        say(LogLevel::debug, [&] { return "claimed " + std::to_string(e.rows); });
    }
    void operator()(RowsSettled const& e) const {
        say(e.lost + e.in_doubt != 0 ? LogLevel::warning : LogLevel::debug, [&] {
            std::string line = "settled " + std::to_string(e.applied());
            auto const add = [&](std::size_t n, char const* what) {
                if (n != 0) line += std::string{", "} + what + ' ' + std::to_string(n);
            };
            add(e.completed, "completed"), add(e.retried, "retried"), add(e.snoozed, "snoozed");
            add(e.released, "released"), add(e.discarded, "discarded"), add(e.dead_lettered, "dead-lettered");
            add(e.lost, "lost to others"), add(e.in_doubt, "in doubt");
            return line;
        });
    }
    void operator()(RowFailed const& e) const {
        say(LogLevel::warning, [&] {
            return "row " + e.failure.key + ": attempt " + std::to_string(e.failure.attempt) + " failed, " +
                   detail::past_tense(e.decision) + ": " + e.failure.what;
        });
    }
    void operator()(LeasesLost const& e) const {
        say(LogLevel::warning,
            [&] { return "lost the leases of " + std::to_string(e.rows) + " rows in hand"; });
    }
    void operator()(RowsRescued const& e) const {
        say(e.dead != 0 ? LogLevel::warning : LogLevel::info, [&] {
            return "rescued " + std::to_string(e.requeued) + " rows of the dead, dead-lettered " +
                   std::to_string(e.dead) + " that crashed too often";
        });
    }
    void operator()(Faulted const& e) const {
        std::lock_guard guard{state_->mutex};
        auto& s = *state_;
        auto const now = s.clock.now();
        if (s.last_stage == e.stage && s.last_what == e.what && now < s.say_again) {
            ++s.left_out;
            return;
        }
        auto const left_out = std::exchange(s.left_out, 0);
        s.last_stage = e.stage, s.last_what = e.what;
        s.say_again = later(now, s.options.repeat);
        std::string line = std::string{e.stage} + " failed";
        line += e.retryable ? " and is tried again: " : ": ";
        line += e.what;
        if (left_out != 0)
            line += " (" + std::to_string(left_out) + " faults not logged since the last line)";
        write(e.retryable ? LogLevel::warning : LogLevel::error, line);
    }
    void operator()(Stopping const& e) const {
        say(LogLevel::info, [&] { return std::string{"stopping: "} + to_string(e.reason); });
    }

private:
    static LogOptions checked(LogOptions options) {
        if (options.repeat < Duration::zero())
            throw ConfigError{"fila: wrong configuration:\n  LogOptions::repeat must not be negative"};
        return options;
    }

    struct State {
        State(Log l, LogOptions o, C c) : log{std::move(l)}, options{o}, clock{std::move(c)} {}
        std::mutex mutex;
        Log log;
        LogOptions options;
        C clock;
        std::string last_stage, last_what;
        TimePoint say_again{};
        std::size_t left_out = 0;
    };
    /// `line` is made only if somebody wants it.
    template <class Line>
    void say(LogLevel level, Line&& line) const {
        if (level < state_->options.level) return;
        std::lock_guard guard{state_->mutex};
        write(level, line());
    }
    void write(LogLevel level, std::string const& line) const {
        if (level >= state_->options.level)
            state_->log(level, std::string_view{"fila: " + detail::one_line(line)});
    }

    std::shared_ptr<State> state_;
};
static_assert(Observer<LogObserver<void (*)(LogLevel, std::string_view)>>);

}  // namespace fila::inline v1
