// SPDX-License-Identifier: MIT
// A simulated world of rows that fail, wait and are put off, and what must be true of them beyond the world's own
// audit. The table may be one with a fault in it.
#pragma once

#include <fila/limiter/fixed_limiter.hpp>
#include <fila/retry/fixed_delay.hpp>
#include <fila/store/memory_store.hpp>
#include <fila/testing/simulated_world.hpp>

#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fila_tests {

using SimulatedTable = fila::MemoryStore<int, fila::ManualClock>;

struct Totals {
    std::uint64_t seeds = 0, steps = 0, runs = 0, reruns = 0, crashes = 0, faults = 0, lost = 0,
                  abandoned = 0, forgotten = 0;

    friend std::ostream& operator<<(std::ostream& out, Totals const& t) {
        return out << t.seeds << " seeds, " << t.steps << " steps, " << t.runs << " runs, " << t.reruns
                   << " reruns, " << t.crashes << " crashes, " << t.faults << " lost requests and answers, "
                   << t.lost << " settles refused, " << t.abandoned << " rows abandoned, " << t.forgotten
                   << " claims forgotten";
    }
};

namespace detail {

inline constexpr fila::Duration lease = std::chrono::seconds{3};

template <class Strategy>
Strategy strategy(fila::testing::Simulation& sim, std::uint32_t max_crashes) {
    if constexpr (Strategy::shared)
        return {
            .lease = lease, .heartbeat = sim.chance(2) ? lease / 30 : lease / 3, .max_crashes = max_crashes};
    else
        return {};
}

}  // namespace detail

/// One seed: empty, or what went wrong. `wrap(table)` gives the table that is used: the same, or another around it
/// whose `inner()` it is.
template <class Strategy, class Wrap>
std::string simulate(std::uint64_t seed, Totals& totals, Wrap wrap) {
    using namespace std::chrono_literals;
    fila::ManualClock clock;
    auto table = wrap(SimulatedTable{clock, {.keep_finished = true}});
    auto& plain = [&]() -> SimulatedTable& {
        if constexpr (requires { table.inner(); })
            return table.inner();
        else
            return table;
    }();
    fila::testing::SimulatedWorld world{
        seed, clock, table, {.lease = detail::lease, .longest_delay = 2 * detail::lease}};
    auto& sim = world.simulation();

    auto const rows = 1 + sim.below(24);
    for (std::uint64_t i = 0; i < rows; ++i)
        plain.put(static_cast<int>(i), {.priority = static_cast<std::int64_t>(sim.below(3))});
    struct Told {
        unsigned runs = 0, failures = 0, completions = 0, discards = 0;
    };
    std::vector<Told> told(rows);
    auto const limit = 1 + sim.below(6);
    bool const strict = sim.chance(3);
    std::uint32_t const max_failures = strict ? 3 : 60, max_crashes = strict ? 2 : 60;
    world.run([&](auto& store, auto& executor, auto const& clock_of_machine) {
        auto handler = [&](int const& row, auto& context) -> fila::Outcome {
            auto& t = told[static_cast<std::size_t>(row)];
            if (Strategy::shared) world.audit().runs(row + 1, store.machine());
            if (context.stop_reason() == fila::StopReason::lease_lost)
                world.bad("begun although the lease had run out");
            ++totals.runs, totals.reruns += t.runs++ > 0;
            if (sim.chance(16)) return fila::snooze(1s + context.attempt() * 1ns);
            if (sim.chance(64)) return ++t.discards, fila::discard();
            if (sim.chance(64)) return ++t.failures, fila::dead_letter("handler");
            if (sim.chance(32)) return ++t.failures, fila::retry(2s, "handler");
            if (sim.chance(8)) ++t.failures, throw std::runtime_error{"handler"};
            if (sim.chance(64)) ++t.failures, throw 42;
            return ++t.completions, fila::complete();
        };
        // A handler is one step: it is over its limit only while what it said waits to be settled.
        bool const hard = sim.chance(4), timed = !world.calm() && sim.chance(4);
        return fila::Processor{store,
                               executor,
                               handler,
                               detail::strategy<Strategy>(sim, max_crashes),
                               clock_of_machine,
                               fila::FixedLimiter{limit},
                               fila::TimeLimit{timed ? fila::Duration{2 * detail::lease} : fila::forever},
                               fila::FixedDelay{.delay = 1s, .max_attempts = max_failures},
                               fila::Pace{.interval = 1s,
                                          .sweep = 5s,
                                          .batch = sim.chance(3) ? 0 : 1 + sim.below(5),
                                          .soft_stop_timeout = 4s,
                                          .hard_stop_timeout = hard ? 6s : fila::forever,
                                          .max_faults = 1000}};
    });
    for (std::uint64_t i = 0; i < rows; ++i) {
        auto const r = *plain.find(static_cast<std::int64_t>(i) + 1);
        if (r.locked) world.bad("a row lock leaked");
        if (r.history.failures > max_failures) world.bad("failed more often than the cap allows");
        if (r.history.crashes > max_crashes) world.bad("crashed more often than the cap allows");
        auto const& t = told[i];
        if (Strategy::shared && t.runs > static_cast<std::uint64_t>(r.fence))
            world.bad("one claim ran twice");
        bool const completed = r.state == fila::RowState::completed,
                   discarded = r.state == fila::RowState::discarded;
        if ((completed && !t.completions) || (discarded && !t.discards) || r.history.failures > t.failures)
            world.bad("a row is what no handler said");
        if (world.calm() && world.abandoned() == 0 &&
            (t.failures != r.history.failures || t.completions != (completed ? 1u : 0u) ||
             t.discards != (discarded ? 1u : 0u)))
            world.bad("a run that was not settled, or a stop that was charged");
    }
    auto const& seen = world.audit().totals();
    ++totals.seeds, totals.steps += sim.steps(), totals.lost += seen.lost, totals.faults += seen.faults;
    totals.crashes += world.crashes(), totals.abandoned += world.abandoned();
    totals.forgotten += seen.forgotten;
    return world.why();
}
template <class Strategy>
std::string simulate(std::uint64_t seed, Totals& totals) {
    return simulate<Strategy>(seed, totals, [](SimulatedTable table) { return table; });
}

}  // namespace fila_tests
