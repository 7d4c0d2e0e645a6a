// SPDX-License-Identifier: MIT
// SystemClock: the steady clock of this host.
#pragma once

#include <fila/clock/clock_concept.hpp>

namespace fila::inline v1 {

/// The default. Steady, so that no wait depends on the date: setting the wall clock neither stalls nor rushes
/// anything. Alternatives: ManualClock. Thread safety: stateless.
struct SystemClock {
    using policy_role = clock_role;

    [[nodiscard]] TimePoint now() const noexcept { return std::chrono::steady_clock::now(); }
    void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, TimePoint t) const {
        // Some standard libraries add to a time point on its way to the system, and the last one would
        // overflow.
        if (t == TimePoint::max())
            cv.wait(lock);
        else
            cv.wait_until(lock, t);
    }
};
static_assert(Clock<SystemClock>);

}  // namespace fila::inline v1
