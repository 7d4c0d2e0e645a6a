// SPDX-License-Identifier: MIT
// Task: what an executor is given.
#pragma once

#include <fila/detail/lane.hpp>

namespace fila::inline v1 {

/// One pointer: copyable, never throws, never allocates, fits any pool's small-object buffer. Calling it works
/// until there is nothing left to do. Posted once per wake of a worker, never once per row.
class Task {
public:
    /// The engine's own.
    explicit Task(detail::Lane& lane) noexcept : lane_{&lane} {}

    /// Works until there is nothing left to do.
    void operator()() const noexcept {
        while (lane_->step().kind == Step::again) {}
    }
    /// For executors that schedule step by step: idle means that the task is over.
    Step step() const noexcept { return lane_->step(); }

private:
    detail::Lane* lane_;
};

}  // namespace fila::inline v1
