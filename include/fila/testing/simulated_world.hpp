// SPDX-License-Identifier: MIT
// SimulatedWorld: your processor, handler and store under a seed: machines that share a table, and everything that
// can go wrong between any two steps of them. A run takes about a tenth of a millisecond to a millisecond, is a
// function of its seed, and is checked after every step.
//
//   std::string one(std::uint64_t seed) {
//       fila::ManualClock clock;
//       fila::MemoryStore<Payment, fila::ManualClock> table{clock};
//       table.enqueue(payments);
//       fila::testing::SimulatedWorld world{seed, clock, table, {.lease = 3s}};
//       world.run([&](auto& store, auto& executor, auto clock_of_machine) {
//           return fila::Processor{store, executor, handler, clock_of_machine, fila::Leased{.lease = 3s}};
//       });
//       return world.why();      // empty, or the first thing that was wrong
//   }
//   for (std::uint64_t seed = 1; seed <= 10'000; ++seed) …
//
// What happens, by the seed: one to three machines run or drain, with none to three workers each. Every other
// world is *calm*: there lanes are never late for a heartbeat, whatever the handlers take; nothing fails, and so no
// lease may be lost, since else every lost lease could be excused. In the others a machine may die between any two
// steps and another take its place; stand still for longer than its lease; see its clock jump ahead; handlers may
// hang for many leases; requests and answers are lost, before and after their effect, or arrive late; the table's
// server may crash, and have forgotten the latest claims. Every machine is stopped at some moment, and may have a hard
// stop. Then the faults cease and one more machine has to finish all that is open.
//
// What is checked, from outside the table: no row is claimed under a live lease; no settle and no extend is applied
// for anybody but the owner; a fence is never used twice; each row is finished exactly once and none is missing, at
// every step; no more rows are in hand than the limiter grants, and no slot leaks; reports add up; a pass meets no
// row twice; nobody sleeps while there is work, or finds work that nobody rang for (Deadlock, LostWake); nothing is
// left in hand by a clean stop. What your handler must not do twice, you check at the end.
//
// The table: a LeasingStore and InspectableStore on the ManualClock, without waits of its own. Time comes from
// the handler only by what the seed makes of it: a handler is one step, and may be stalled behind it.
#pragma once

#include <fila/processor/processor.hpp>
#include <fila/testing/simulated_store.hpp>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

/// How bad a world may be, and what its processors are set to.
struct WorldOptions {
    /// That of the claim strategy; stalls are measured by it.
    Duration lease = std::chrono::seconds{3};
    /// In a world that is not calm: one in so many requests, and one in so many answers, is lost.
    unsigned fault_one_in = 40;
    /// Processes at most, the dead included.
    std::size_t machines = 5;
    /// The longest delay that policies and handlers give a row: after it, the last machine's first pass has to
    /// meet every row that is open. Zero: not checked.
    Duration longest_delay{};
};

template <class Table>
class SimulatedWorld {
public:
    /// What a machine's processor gets as its store.
    using Store = SimulatedStore<Table>;
    /// What judges the world.
    using Audit = typename SimulatedNetwork<Table>::Audit;

    /// The same seed makes the same world. `table` is on `clock`, and outlives the world.
    SimulatedWorld(std::uint64_t seed, ManualClock clock, Table& table, WorldOptions options = {})
        : options_{options},
          calm_{seed % 2 == 1},
          clock_{clock},
          simulation_{seed, clock},
          network_{simulation_, clock, table} {}

    /// `make(store, executor, clock)` makes a machine's processor of what it is given: a Store&, an executor, a
    /// MachineClock, and whatever else belongs to it. Once in the life of a world.
    template <class Make>
    void run(Make make) {
        try {
            rows_ = network_.table().counts(~std::size_t{0}).open();
            live(make);
            clear_up(make);
            if (network_.table().counts(1).open()) bad("rows were left open when the faults had ceased");
        } catch (std::exception const& e) {
            bad(e.what());
        }
    }

    /// Empty, or the first violation.
    [[nodiscard]] std::string const& why() const noexcept { return network_.audit().why(); }
    /// A violation of the caller's own rules: the first one of all stays.
    void bad(std::string what) { audit().bad(std::move(what)); }

    /// Whether nothing fails in it: every other seed.
    [[nodiscard]] bool calm() const noexcept { return calm_; }
    /// For handlers that take choices of the seed.
    [[nodiscard]] Simulation& simulation() noexcept { return simulation_; }
    /// What has really happened; tell it what handlers do.
    [[nodiscard]] Audit& audit() noexcept { return network_.audit(); }
    /// What has really happened.
    [[nodiscard]] Audit const& audit() const noexcept { return network_.audit(); }
    /// Machines that died.
    [[nodiscard]] std::size_t crashes() const noexcept { return crashes_; }
    /// Rows that machines left behind at their hard stop. A calm world without them is one in which every row is
    /// settled by whoever ran it.
    [[nodiscard]] std::size_t abandoned() const noexcept { return abandoned_; }

private:
    static constexpr auto never = ~std::uint64_t{0};

    template <class Make>
    struct Machine {
        Machine(SimulatedWorld& w, Make& make, int number)
            : id{number},
              store{w.network_, number},
              clock{w.clock_},
              executor{w.simulation_, number, clock, w.simulation_.below(4)},
              processor{make(store, executor, clock)} {}

        using Processor = std::invoke_result_t<Make&, Store&, Simulation::Executor&, MachineClock const&>;
        using Session =
            decltype(detail::ProcessorAccess::start(std::declval<Processor&>(), detail::Mode::run));
        int id;
        Store store;
        MachineClock clock;
        Simulation::Executor executor;
        Processor processor;
        std::stop_source stop;
        std::unique_ptr<Session> session{};
        std::uint64_t dies_at = never, stops_at = never;
    };
    template <class Make>
    using Machines = std::list<Machine<Make>>;

    template <class Make>
    void start(Machines<Make>& machines, Make& make) {
        auto& m = machines.emplace_back(*this, make, static_cast<int>(machines.size()) + 1);
        auto const now = simulation_.steps();
        if (!calm_ && simulation_.chance(2)) m.dies_at = now + simulation_.below(400);
        m.stops_at = now + 50 + simulation_.below(600);
        auto const mode = simulation_.chance(4) ? detail::Mode::drain : detail::Mode::run;
        m.session.reset(new auto(detail::ProcessorAccess::start(m.processor, mode, m.stop.get_token())));
        m.executor.add(m.session->engine().lanes());
    }

    template <class Make>
    void live(Make& make) {
        auto const stormy = !calm_ && simulation_.chance(2);
        network_.fault_one_in(stormy ? options_.fault_one_in : 0);
        auto const& lease = options_.lease;
        simulation_.stalls(
            {calm_ ? lease / 8 : 2 * lease, (!calm_ && simulation_.chance(8) ? 20 : 2) * lease});
        Machines<Make> machines;
        for (auto n = 1 + simulation_.below(3); n > 0; --n) start(machines, make);
        while (!simulation_.finished()) {
            for (auto& m : machines) {
                if (!m.session) continue;
                if (simulation_.steps() >= m.dies_at) {
                    die(m);
                    if (machines.size() < options_.machines) start(machines, make);
                    continue;
                }
                if (simulation_.steps() >= m.stops_at) m.stop.request_stop();
                check(m.session->engine().ledger());
            }
            if (!calm_) happen(machines);
            count();
            if (!simulation_.finished()) simulation_.step();
        }
        for (auto& m : machines)
            if (m.session) check_end(m.session->engine().ledger());
        if (calm_ && abandoned_ == 0) check_calm();
    }
    template <class Make>
    void die(Machine<Make>& m) {
        if (simulation_.alive(m.id)) ++crashes_;
        simulation_.kill(m.id);
        auto const held = m.session->engine().ledger().let_go();
        m.session.reset();  // open transactions roll back
        audit().died(m.id);
    }
    template <class Make>
    void happen(Machines<Make>& machines) {
        if (simulation_.chance(8)) network_.arrive();
        if (simulation_.chance(300)) network_.crash();
        if (!simulation_.chance(100)) return;
        auto const which =
            std::next(machines.begin(), static_cast<std::ptrdiff_t>(simulation_.below(machines.size())));
        if (simulation_.chance(2))
            simulation_.freeze(which->id, simulation_.up_to(4 * options_.lease));
        else
            which->clock.jump(simulation_.up_to(4 * options_.lease));
    }

    template <class Ledger>
    void check(Ledger& ledger) {
        if constexpr (requires { ledger.parts.limiter.capacity(); })
            if (ledger.in_hand() > ledger.parts.limiter.capacity())
                bad("more rows in hand than the limiter grants");
    }
    template <class Ledger>
    void check_end(Ledger& ledger) {
        auto const r = ledger.report();
        if (r.claimed != r.settled() + r.lost + r.in_doubt + r.unsettled + r.abandoned)
            bad("the report does not add up");
        abandoned_ += r.abandoned;
        if constexpr (requires { ledger.parts.limiter.capacity(); }) {
            auto& limiter = ledger.parts.limiter;
            auto const all = limiter.capacity(), free = limiter.acquire(all);
            limiter.release(free);
            if (free + r.abandoned != all) bad("slots leaked");
        }
    }
    void check_calm() {
        if (audit().totals().lost) bad("a lease was lost though nobody was late");
        if (audit().totals().rescued) bad("rescued though nobody died");
        for (auto const& [key, row] : audit().rows())
            if (row.owner) bad("left in hand by a clean stop");
    }
    /// Each row is in one place, at every step.
    void count() {
        auto const counts = network_.table().counts(~std::size_t{0});
        if (counts.dead != audit().dead()) bad("dead letters that nobody wrote, or that are missing");
        if (counts.open() + counts.dead + audit().done() != rows_) bad("a row is missing, or there twice");
    }

    template <class Make>
    void clear_up(Make& make) {
        network_.fault_one_in(0);
        while (!network_.quiet()) network_.arrive();
        Machine<Make> last{*this, make, -1};
        // In one world of two it finds leases that still run, and has to wait for them.
        if (simulation_.chance(2)) one_pass(last.processor);
        last.processor.drain({.until = DrainUntil::nothing_open});
        count();
    }
    template <class Processor>
    void one_pass(Processor& processor) {
        clock_.advance(2 * options_.lease + options_.longest_delay);
        auto const before = audit().rows();
        auto const open = network_.table().counts(~std::size_t{0}).open() + audit().buried();
        processor.drain();
        std::size_t met = 0;
        for (auto const& [key, row] : audit().rows()) {
            auto const was = before.find(key);
            auto const times = row.claims - (was == before.end() ? 0 : was->second.claims);
            if (times > 1) bad("one pass met a row twice");
            met += times;
        }
        if (options_.longest_delay > Duration::zero() && met + audit().buried() < open)
            bad("one pass missed a row");
    }

    WorldOptions const options_;
    bool const calm_;
    ManualClock clock_;
    Simulation simulation_;
    SimulatedNetwork<Table> network_;
    std::size_t rows_ = 0, crashes_ = 0, abandoned_ = 0;
};

template <class Table>
SimulatedWorld(std::uint64_t, ManualClock, Table&, WorldOptions) -> SimulatedWorld<Table>;

}  // namespace fila::inline v1::testing
