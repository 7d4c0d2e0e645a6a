// SPDX-License-Identifier: MIT
// The real Processor under a seed: two machines share a table, one may die between any two steps, faults before
// and after each verb, then a third machine clears up. Every other world is calm: no faults, no crash, a keeper
// that is never late; there no lease may be lost, however slow the handlers are, since else every lost lease
// could be excused by a stall.
#include "support/catch.hpp"
#include "support/simulated_world.hpp"

#include <fila/limiter/fixed_limiter.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/fixed_delay.hpp>

#include <iostream>

using namespace std::chrono_literals;
using fila::detail::Mode;
using fila::detail::ProcessorAccess;
using fila::testing::Peer;
using fila::testing::SimulatedWorld;
using fila::testing::Simulation;

namespace {

constexpr fila::Duration lease = 3s;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seeds = 500;  // an order of magnitude slower there
#else
constexpr std::uint64_t seeds = 4000;
#endif

struct Totals {
    std::uint64_t seeds = 0, steps = 0, runs = 0, reruns = 0, crashes = 0, lost = 0;
};

template <class Strategy>
Strategy strategy() {
    if constexpr (Strategy::shared) return {.lease = lease, .max_crashes = 60};
    else return {};
}

/// Empty, or what went wrong.
template <class Strategy>
std::string scenario(std::uint64_t seed, Totals& totals) {
    bool const calm = seed % 2;
    fila::ManualClock clock;
    Simulation sim{seed, clock, calm ? lease / 8 : 2 * lease, 2 * lease};
    SimulatedWorld world{sim, clock};
    if (!calm && sim.chance(2)) world.fault_one_in = 40;

    std::vector<int> rows(1 + sim.below(24));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int>(i);
    for (auto const& r : rows) world.table.put(r, {.priority = static_cast<std::int64_t>(sim.below(3))});
    std::vector<unsigned> runs(rows.size());
    std::vector<unsigned> failures(rows.size());
    auto handler = [&](int const& row, auto& context) -> fila::Outcome {
        auto const i = static_cast<std::size_t>(row);
        ++totals.runs, totals.reruns += runs[i]++ > 0;
        if (sim.chance(8)) ++failures[i], throw std::runtime_error{"handler"};
        if (sim.chance(64)) ++failures[i], throw 42;
        if (sim.chance(16)) return --runs[i], fila::snooze(1s + context.attempt() * 1ns);
        return fila::complete();
    };
    auto const limit = 1 + sim.below(6);
    auto make = [&](Peer& peer, Simulation::Executor& executor) {
        return fila::Processor{peer,
                               executor,
                               handler,
                               strategy<Strategy>(),
                               clock,
                               fila::FixedLimiter{limit},
                               fila::FixedDelay{.delay = 1s, .max_attempts = 60},
                               fila::Pace{.interval = 1s,
                                          .sweep = 5s,
                                          .batch = sim.chance(3) ? 0 : 1 + sim.below(5),
                                          .soft_stop_timeout = 4s,
                                          .max_faults = 1000}};
    };
    Simulation::Executor a{sim, 1, sim.below(4)}, b{sim, 2, 1 + sim.below(3)}, c{sim, 3, 2};
    Peer x{world, 1}, y{world, 2}, z{world, 3};
    auto pa = make(x, a), pb = make(y, b), pc = make(z, c);
    std::stop_source stop, later;
    try {
        auto const crash_at = !calm && sim.chance(2) ? sim.below(400) : ~std::uint64_t{0};
        auto const stop_at = 100 + sim.below(400), later_at = stop_at + 1 + sim.below(400);
        auto sa = ProcessorAccess::start(pa, Mode::run, stop.get_token());
        auto sb = ProcessorAccess::start(pb, Mode::run, later.get_token());
        sim.add(1, sa->engine().lanes()), sim.add(2, sb->engine().lanes());
        bool crashed = false;
        while (!sim.finished()) {
            if (sim.steps() == crash_at && sim.alive(1)) {
                sim.kill(1);
                sa.reset();  // open transactions roll back
                crashed = true, ++totals.crashes;
            }
            if (sim.steps() == stop_at) stop.request_stop();
            if (sim.steps() == later_at) later.request_stop();
            if (!crashed && sa->engine().ledger().in_hand() > limit) world.bad("more in hand than the limit");
            if (!sim.finished()) sim.step();
        }
        for (auto* s : {&sa, &sb}) {
            if (!*s) continue;
            auto const r = (*s)->engine().ledger().report();
            if (r.claimed != r.settled() + r.lost + r.in_doubt + r.unsettled) world.bad("the report does not add up");
            auto& limiter = (*s)->engine().ledger().parts.limiter;
            auto const free = limiter.acquire(limit);
            limiter.release(free);
            if (free != limit) world.bad("slots leaked");
        }
        world.fault_one_in = 0;
        if (calm) {
            if (world.lost) world.bad("a lease was lost though the keeper was well");
            if (world.rescued) world.bad("rescued though nobody died");
            for (std::int64_t k = 1; k <= std::ssize(rows); ++k) {
                auto const r = *world.table.find(k);
                auto const i = static_cast<std::size_t>(r.row);
                if (r.state == fila::RowState::processing || r.locked) world.bad("left in hand by a clean stop");
                if (runs[i] != r.history.failures + (r.state == fila::RowState::completed ? 1u : 0u))
                    world.bad("a run that was not settled, or a stop that was charged");
            }
        }
        // Somebody else clears up: first by one pass, which meets each row once, then until nothing is open.
        clock.advance(2 * lease);
        auto const before = runs;
        pc.drain();
        for (std::size_t i = 0; i < runs.size(); ++i)
            if (runs[i] > before[i] + 1) world.bad("one pass met a row twice");
        pc.drain({.until = fila::DrainUntil::nothing_open});
    } catch (std::exception const& e) {
        world.bad(e.what());
    }
    for (std::int64_t k = 1; k <= std::ssize(rows); ++k) {
        auto const r = *world.table.find(k);
        if (world.finals[k] != 1) world.bad(world.finals[k] ? "finished twice" : "lost");
        if (r.locked) world.bad("a row lock leaked");
        if (Strategy::shared && runs[static_cast<std::size_t>(r.row)] > static_cast<std::uint64_t>(r.fence))
            world.bad("one claim ran twice");
    }
    ++totals.seeds, totals.steps += sim.steps(), totals.lost += world.lost;
    return world.why;
}

template <class Strategy>
void sweep(char const* name) {
    Totals t;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        auto const why = scenario<Strategy>(seed, t);
        INFO(name << ", seed " << seed << ": " << why);
        REQUIRE(why.empty());
    }
    std::cout << name << ": " << t.seeds << " seeds, " << t.steps << " steps, " << t.runs << " runs, " << t.reruns
              << " reruns, " << t.crashes << " crashes, " << t.lost << " lost settles: no violation\n";
    CHECK(t.crashes > 0);  // else the faults were not there
    CHECK(t.reruns > 0);
}

}  // namespace

TEST_CASE("simulation: Leased, whatever fails, every row is finished once and by its owner") {
    sweep<fila::Leased>("leased");
}
TEST_CASE("simulation: InTransaction, whatever fails, every row is finished once and by its owner") {
    sweep<fila::InTransaction>("in transaction");
}
TEST_CASE("simulation: a seed replays exactly") {
    Totals first, second;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        (void)scenario<fila::Leased>(seed, first);
        (void)scenario<fila::Leased>(seed, second);
    }
    CHECK(first.steps == second.steps);
    CHECK(first.runs == second.runs);
}
