// SPDX-License-Identifier: MIT
// BatchMeter: how many rows to have in hand, from how long handlers take.
#pragma once

#include <fila/types/time.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fila::inline v1::detail {

/// Rows in hand are those that can start within 50 ms, and one, at most two batches of 1000; the number grows
/// fourfold at a time at most. So a handler of a second has `slots` + 1 rows leased, and a quick one soon
/// claims by the thousand. A fixed batch has two in hand, or one and a row for each slot, since small batches must
/// not keep workers idle; without sharing (transactions) each slot has one row.
class BatchMeter {
public:
    BatchMeter(std::size_t slots, std::size_t fixed_batch, bool shared)
        : slots_{slots},
          batch_{fixed_batch},
          shared_{shared},
          // Without a measurement yet: what can start at once, and one to follow.
          window_{!shared       ? slots
                  : fixed_batch ? fixed_batch + std::max(fixed_batch, slots)
                                : slots + 1} {}

    /// From any thread. Whether handlers have become cheap, or ceased to be: then the claimer's own thread
    /// may run them too, or may not, and has to know.
    [[nodiscard]] bool add(Duration took, std::uint32_t rows) noexcept {
        took_.fetch_add(took.count(), std::memory_order_relaxed);
        ran_.fetch_add(rows, std::memory_order_relaxed);
        bool const cheap = took / rows < std::chrono::microseconds{20};
        if (cheap == cheap_.load(std::memory_order_relaxed)) return false;
        cheap_.store(cheap, std::memory_order_relaxed);
        return true;
    }
    [[nodiscard]] bool cheap() const noexcept { return cheap_.load(std::memory_order_relaxed); }

    /// How many more rows may be in hand, and how many a claim should ask for at most.
    struct Room {
        std::size_t rows, batch;
        /// While other rows wait to be started: no tiny claims.
        [[nodiscard]] bool worth_a_claim() const noexcept { return rows * 2 >= batch; }
    };
    [[nodiscard]] Room room(std::size_t in_hand) const noexcept {
        return {window_ > in_hand ? window_ - in_hand : 0, batch()};
    }
    [[nodiscard]] std::size_t batch() const noexcept {
        if (!shared_) return 1;
        if (batch_) return batch_;
        return window_ <= 2 * slots_ ? window_ : std::min<std::size_t>(most / 2, window_ / 2);
    }
    /// Only where the claimer's bell rings next, so that no look of it can find more than it was told of.
    void adapt() noexcept {
        auto const took = took_.exchange(0, std::memory_order_relaxed);
        auto const ran = ran_.exchange(0, std::memory_order_relaxed);
        if (!shared_ || batch_ || ran <= 0) return;
        constexpr double horizon = 50e6;
        auto const each = std::max(1.0, static_cast<double>(took) / static_cast<double>(ran));
        cost_ = cost_ > 0 ? cost_ + (each - cost_) / 4 : each;
        auto const startable = std::clamp(static_cast<double>(slots_) * horizon / cost_, 1.0, double{most});
        window_ = std::min(slots_ + static_cast<std::size_t>(startable), std::max(4 * window_, slots_ + 1));
    }

private:
    static constexpr std::size_t most = 2000;
    std::size_t const slots_, batch_;
    bool const shared_;
    std::size_t window_;
    double cost_ = 0;  ///< ns of handler a row, smoothed
    std::atomic<bool> cheap_{false};
    std::atomic<Duration::rep> took_{0};
    std::atomic<std::int64_t> ran_{0};
};

}  // namespace fila::inline v1::detail
