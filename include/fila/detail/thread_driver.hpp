// SPDX-License-Identifier: MIT
// The driver of a real run: a thread steps a lane, and sleeps on the lane's bell.
#pragma once

#include <fila/detail/lane.hpp>
#include <fila/executor/detail/signals_blocked.hpp>

#include <algorithm>
#include <functional>
#include <span>
#include <thread>

namespace fila::inline v1::detail {

/// Several lanes by turns, each until it is idle (step by step, nothing would ever be coalesced). They share
/// the first one's bell. Returns when the first is done and so has ended the others.
template <class Clock>
void run_lanes(std::span<Lane* const> lanes, Clock& clock) {
    auto& bell = lanes.front()->bell();
    for (;;) {
        auto until = TimePoint::max();
        bool done = true;
        bell.quiet();  // before the steps: a ring during them is kept
        for (auto* lane : lanes) {
            Step s{Step::again};
            while (s.kind == Step::again) s = lane->step();
            done = done && s.kind == Step::done;
            if (s.kind == Step::idle) until = std::min(until, s.until);
        }
        if (done) return;
        bell.wait(clock, until);
    }
}

template <class Clock>
[[nodiscard]] std::thread lane_thread(Lane& lane, Clock& clock) {
    SignalsBlocked const blocked;
    return std::thread{std::function<void()>{[&lane, &clock] {
        Lane* one[] = {&lane};
        run_lanes(one, clock);
    }}};
}

}  // namespace fila::inline v1::detail
