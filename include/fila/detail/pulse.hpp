// SPDX-License-Identifier: MIT
// Pulse: when a verb of the store last worked, and how often in a row it has failed since.
#pragma once

#include <fila/processor/health.hpp>

#include <atomic>

namespace fila::inline v1::detail {

/// Written by the verb's lane, read from any thread.
class Pulse {
public:
    void worked(TimePoint now) noexcept {
        last_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
        errors_.store(0, std::memory_order_relaxed);
    }
    /// Answers how often in a row it had failed before.
    unsigned failed() noexcept { return errors_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] Health::Verb health(TimePoint now) const noexcept {
        Health::Verb v{{}, errors_.load(std::memory_order_relaxed)};
        auto const last = last_.load(std::memory_order_relaxed);
        if (last != never) v.since = now - TimePoint{Duration{last}};
        return v;
    }

private:
    static constexpr auto never = Duration::min().count();
    std::atomic<Duration::rep> last_{never};
    std::atomic<unsigned> errors_{0};
};

}  // namespace fila::inline v1::detail
