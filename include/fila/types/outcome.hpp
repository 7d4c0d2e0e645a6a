// SPDX-License-Identifier: MIT
// Outcome: what becomes of a row after its handler.
//
//   return fila::complete();               // the default of a handler that returns nothing
//   return fila::complete("paid");         // a final status of your own
//   return fila::retry(30s, "busy");       // a failure: spends an attempt, run again not before 30 s
//   return fila::snooze(1h);               // not a failure: later, nothing spent
//   return fila::discard("duplicate");     // final, on purpose; not a failure
//   return fila::dead_letter("no such account");  // final, for a person to look at; may be redriven
#pragma once

#include <fila/types/time.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace fila::inline v1 {

/// A value of 24 bytes; its text, which is rare, lives apart, since an outcome crosses cores with every row.
class [[nodiscard]] Outcome {
public:
    /// What becomes of the row: one for each function that makes an outcome.
    enum class Kind : std::uint8_t { complete, retry, snooze, release, discard, dead_letter };

    /// Completed with the mapping's own word.
    Outcome() = default;
    /// For the functions below, which say what each kind takes.
    Outcome(Kind kind, Duration delay, std::string text)
        : delay_{delay},
          text_{text.empty() ? nullptr : std::make_unique<std::string>(std::move(text))},
          kind_{kind} {}
    Outcome(Outcome const& o)
        : delay_{o.delay_},
          text_{o.text_ ? std::make_unique<std::string>(*o.text_) : nullptr},
          kind_{o.kind_} {}
    Outcome(Outcome&&) noexcept = default;
    Outcome& operator=(Outcome o) noexcept {
        delay_ = o.delay_, text_ = std::move(o.text_), kind_ = o.kind_;
        return *this;
    }
    ~Outcome() = default;

    /// What becomes of the row.
    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    /// How long the row waits: of retry and snooze, by the store's clock; never negative.
    [[nodiscard]] Duration delay() const noexcept {
        return delay_ < Duration::zero() ? Duration::zero() : delay_;
    }
    /// Changes how long the row waits; the engine's own.
    void put_off(Duration delay) noexcept { delay_ = delay; }
    /// The status word of `complete(word)`, else the reason; empty if none was given.
    [[nodiscard]] std::string_view text() const noexcept {
        return text_ ? std::string_view{*text_} : std::string_view{};
    }
    /// Whether the row spends one of its attempts: retries and dead letters do.
    [[nodiscard]] bool failure() const noexcept { return kind_ == Kind::retry || kind_ == Kind::dead_letter; }
    /// Whether the row is finished: nobody claims it again.
    [[nodiscard]] bool final() const noexcept {
        return kind_ == Kind::complete || kind_ == Kind::discard || kind_ == Kind::dead_letter;
    }

private:
    Duration delay_{};
    std::unique_ptr<std::string> text_;
    Kind kind_ = Kind::complete;
};

/// The row is done. `status` is your own final word where the store keeps one ("paid"); empty: the mapping's.
inline Outcome complete(std::string status = {}) { return {Outcome::Kind::complete, {}, std::move(status)}; }
/// The attempt failed; try again after `after`. The retry policy may still say that it was the last one.
/// Zero means the next pass: of a `run`, not before Pace::sweep.
inline Outcome retry(Duration after, std::string why = {}) {
    return {Outcome::Kind::retry, after, std::move(why)};
}
/// Not now: the row waits for `after`, and no attempt is spent. Zero means the same as for `retry`.
inline Outcome snooze(Duration after) { return {Outcome::Kind::snooze, after, {}}; }
/// Finished on purpose without being done (obsolete, a duplicate). Final, not a failure.
inline Outcome discard(std::string why = {}) { return {Outcome::Kind::discard, {}, std::move(why)}; }
/// Given up: final until a person redrives it.
inline Outcome dead_letter(std::string why) { return {Outcome::Kind::dead_letter, {}, std::move(why)}; }
/// Given back unstarted, as on a stop: pending again at once, nothing spent. The engine's own; handlers
/// snooze.
inline Outcome release() { return {Outcome::Kind::release, {}, {}}; }

}  // namespace fila::inline v1
