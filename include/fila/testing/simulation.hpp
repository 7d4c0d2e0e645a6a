// SPDX-License-Identifier: MIT
// Simulation: the other driver of the engine. One thread, one seed, virtual time: any lane may be picked,
// stalled, or woken for nothing. A run is a function of its seed.
//
// When to use: through SimulatedWorld, which adds machines, crashes, faults and the audit. The idea of
// simulating a whole system deterministically under a seed is FoundationDB's.
#pragma once

#include <fila/clock/manual_clock.hpp>
#include <fila/executor/executor_concept.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace fila::inline v1::testing {

/// Every lane sleeps, and nothing will wake one.
struct Deadlock : std::runtime_error {
    using runtime_error::runtime_error;
};
/// A step found work although nobody had rung: a real thread would have slept on.
struct LostWake : std::runtime_error {
    using runtime_error::runtime_error;
};
/// Far more steps than any run needs.
struct Livelock : std::runtime_error {
    using runtime_error::runtime_error;
};

/// The clock of one machine: the world's, and how far it has jumped ahead of it. A handle.
class MachineClock {
public:
    using policy_role = clock_role;

    /// Agrees with the world's until it jumps.
    explicit MachineClock(ManualClock world) : world_{std::move(world)} {}

    [[nodiscard]] TimePoint now() const noexcept { return later(world_.now(), *ahead_); }
    /// Throws std::logic_error: here nobody may wait.
    void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, TimePoint) const {
        throw std::logic_error{"a simulated machine has no thread that could wait"};
    }
    /// As when a host's clock is set, or a virtual machine was asleep.
    void jump(Duration ahead) const { *ahead_ += ahead; }
    /// That moment, by the world's clock.
    [[nodiscard]] TimePoint in_the_world(TimePoint t) const noexcept {
        return t == TimePoint::max() ? t : t - *ahead_;
    }

private:
    ManualClock world_;
    std::shared_ptr<Duration> ahead_ = std::make_shared<Duration>();
};
static_assert(Clock<MachineClock>);

/// Picks and steps the lanes of all machines. Thread safety: none; it is one thread.
class Simulation {
public:
    /// How long a lane, or a handler, may be kept waiting.
    struct Stalls {
        Duration lane{}, worker{};  ///< at most so long, now and then
    };

    /// Moves `clock` when nothing else can happen.
    Simulation(std::uint64_t seed, ManualClock clock) : random_{seed}, clock_{std::move(clock)} {}

    /// The workers of one machine: they die together.
    class Executor {
    public:
        /// `workers` may be 0: the lanes do the work.
        Executor(Simulation& s, int machine, MachineClock clock, std::size_t workers)
            : simulation_{&s}, clock_{std::move(clock)}, machine_{machine}, workers_{workers} {}

        void execute(Task t) {
            simulation_->entries_.push_back({nullptr, t, machine_, clock_, {}, {}, false});
        }
        [[nodiscard]] std::size_t concurrency() const { return workers_; }
        /// Lanes of a processor, from now on stepped with all the others.
        void add(std::span<detail::Lane* const> lanes) {
            for (auto* l : lanes)
                simulation_->entries_.push_back({l, Task{*l}, machine_, clock_, {}, {}, false});
        }
        /// Called by a processor that is run by its own `drain` or `run`: returns when its lanes are done.
        void drive(std::span<detail::Lane* const> lanes) {
            add(lanes);
            while (simulation_->alive(machine_)) simulation_->step();
        }

    private:
        Simulation* simulation_;
        MachineClock clock_;
        int machine_;
        std::size_t workers_;
    };

    /// From now on; none at first.
    void stalls(Stalls s) noexcept { stalls_ = s; }
    /// Whether it has a lane that is not done.
    [[nodiscard]] bool alive(int machine) const {
        return std::any_of(entries_.begin(), entries_.end(), [&](auto& e) { return e.machine == machine; });
    }
    /// Between two steps, as SIGKILL would.
    void kill(int machine) {
        std::erase_if(entries_, [&](auto& e) { return e.machine == machine; });
    }
    /// All of it stands still for a while, as after SIGSTOP, or in a virtual machine that is moved.
    void freeze(int machine, Duration d) {
        for (auto& e : entries_)
            if (e.machine == machine) e.stalled = std::max(e.stalled, later(clock_.now(), d));
    }
    /// Whether all lanes of all machines are done.
    [[nodiscard]] bool finished() const noexcept { return entries_.empty(); }

    /// The seed's choices, for whatever else is left to chance.
    [[nodiscard]] bool chance(unsigned one_in) { return one_in != 0 && random_() % one_in == 0; }
    /// The seed's choice, 0 … n - 1.
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_() % n; }
    /// The seed's choice, 0 … `d`.
    [[nodiscard]] Duration up_to(Duration d) {
        return Duration{static_cast<Duration::rep>(below(static_cast<std::uint64_t>(d.count()) + 1))};
    }
    /// Taken so far, of all machines.
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

    /// One step of one lane; or time passes, if none can be stepped. Throws Deadlock, LostWake, Livelock.
    void step() {
        if (++steps_ > most_steps) throw Livelock{"does not end: " + who()};
        auto const now = clock_.now();
        ready_.clear();
        auto next = TimePoint::max();
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            auto& e = entries_[i];
            auto const until = e.clock.in_the_world(e.until);
            if (e.stalled > now)
                next = std::min(next, e.stalled);
            else if (rung(e) || until <= now || chance(16))  // now and then for nothing
                ready_.push_back(i);
            else
                next = std::min(next, until);
        }
        if (ready_.empty()) {
            if (next == TimePoint::max())
                throw Deadlock{"every lane sleeps and nothing will wake one: " + who()};
            return clock_.advance_to(next);
        }
        step(ready_[below(ready_.size())]);
    }

private:
    static constexpr std::uint64_t most_steps = 400'000;
    struct Entry {
        detail::Lane* lane;  // null: a task on the executor
        Task task;
        int machine;
        MachineClock clock;
        TimePoint until, stalled;
        bool asleep;
    };

    void step(std::size_t i) {
        auto& e = entries_[i];
        if (chance(24)) {  // a slow handler, a slow statement, a thread that is not scheduled
            e.stalled = later(clock_.now(), up_to(e.lane ? stalls_.lane : stalls_.worker));
            return;
        }
        bool const spurious = !rung(e) && e.clock.in_the_world(e.until) > clock_.now();
        if (e.lane) e.lane->bell().quiet();
        auto const s = e.task.step();  // may post tasks: `e` is not valid any more
        auto& same = entries_[i];
        if (spurious && s.kind != Step::idle)
            throw LostWake{std::string{"found work though nobody rang: "} + same.lane->name()};
        same.asleep = s.kind == Step::idle;
        same.until = s.until;
        if (s.kind == Step::done || (s.kind == Step::idle && !same.lane))
            entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    [[nodiscard]] static bool rung(Entry const& e) { return !e.asleep || e.lane->bell().is_rung(); }
    [[nodiscard]] std::string who() const {
        std::string s;
        for (auto const& e : entries_)
            s += "machine " + std::to_string(e.machine) + ' ' + (e.lane ? e.lane->name() : "worker") + "; ";
        return s;
    }

    std::mt19937_64 random_;
    ManualClock clock_;
    Stalls stalls_;
    std::vector<Entry> entries_;
    std::vector<std::size_t> ready_;
    std::uint64_t steps_ = 0;
};
static_assert(DrivingExecutor<Simulation::Executor>);

}  // namespace fila::inline v1::testing
