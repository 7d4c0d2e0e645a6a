// SPDX-License-Identifier: MIT
// DueHints: when rows that we put off come due, so that a retry does not wait for the next interval.
#pragma once

#include <fila/types/time.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

namespace fila::inline v1::detail {

class DueHints {
public:
    /// Whether it was taken: only so many are kept, and the interval finds the others.
    bool note(TimePoint due) {
        std::lock_guard lock{mutex_};
        if (heap_.size() == most) return false;
        heap_.push_back(due);
        std::push_heap(heap_.begin(), heap_.end(), std::greater{});
        return true;
    }
    [[nodiscard]] TimePoint next() const {
        std::lock_guard lock{mutex_};
        // A store's clock may be finer or coarser than ours: look just after the moment, not just before it.
        return heap_.empty() ? TimePoint::max() : later(heap_.front(), std::chrono::milliseconds{1});
    }
    void forget(TimePoint now) {
        std::lock_guard lock{mutex_};
        while (!heap_.empty() && heap_.front() < now) {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater{});
            heap_.pop_back();
        }
    }

private:
    static constexpr std::size_t most = 1024;
    mutable std::mutex mutex_;
    std::vector<TimePoint> heap_;  ///< the next on top
};

}  // namespace fila::inline v1::detail
