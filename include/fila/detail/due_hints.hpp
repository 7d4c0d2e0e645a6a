// SPDX-License-Identifier: MIT
// DueHints: when rows that we put off come due, so that a retry does not wait for the next interval.
#pragma once

#include <fila/detail/list.hpp>
#include <fila/types/time.hpp>

#include <algorithm>
#include <mutex>

namespace fila::inline v1::detail {

class DueHints {
public:
    /// Whether it was taken: only so many are kept, and the interval finds the others.
    bool note(TimePoint due) {
        std::lock_guard lock{mutex_};
        if (dues_.size() == most) return false;
        dues_.push_back(due);
        next_ = std::min(next_, due);
        return true;
    }
    [[nodiscard]] TimePoint next() const {
        std::lock_guard lock{mutex_};
        // A store's clock may be finer or coarser than ours: look just after the moment, not just before it.
        return later(next_, std::chrono::milliseconds{1});
    }
    void forget(TimePoint now) {
        std::lock_guard lock{mutex_};
        if (next_ >= now) return;
        dues_.drop_if([now](TimePoint due) { return due < now; });
        next_ = TimePoint::max();
        for (auto const due : dues_) next_ = std::min(next_, due);
    }

private:
    static constexpr std::size_t most = 1024;
    mutable std::mutex mutex_;
    List<TimePoint> dues_;  ///< in no order: they are few, and looked at once a pass
    TimePoint next_ = TimePoint::max();
};

}  // namespace fila::inline v1::detail
