// SPDX-License-Identifier: MIT
// Simulation: the other driver. One thread, one seed, virtual time: any lane may be picked, stalled, or woken
// for nothing, and any moment may be a machine's last. A run is a function of its seed.
#pragma once

#include <fila/clock/manual_clock.hpp>
#include <fila/executor/executor_concept.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace fila::testing {

/// Every lane sleeps, and nothing will wake one.
struct Deadlock : std::runtime_error {
    using runtime_error::runtime_error;
};
/// A step found work although nobody had rung: a real thread would have slept on.
struct LostWake : std::runtime_error {
    using runtime_error::runtime_error;
};

class Simulation {
public:
    Simulation(std::uint64_t seed, ManualClock clock, Duration lane_stall, Duration worker_stall)
        : random_{seed}, clock_{clock}, lane_stall_{lane_stall}, worker_stall_{worker_stall} {}

    /// The workers of one machine: they die together.
    class Executor {
    public:
        Executor(Simulation& s, int machine, std::size_t workers)
            : simulation_{&s}, machine_{machine}, workers_{workers} {}
        void execute(Task t) { simulation_->entries_.push_back({nullptr, t, machine_, {}, {}, false}); }
        [[nodiscard]] std::size_t concurrency() const { return workers_; }
        void drive(std::span<detail::Lane* const> lanes) {
            simulation_->add(machine_, lanes);
            while (simulation_->alive(machine_)) simulation_->step();
        }

    private:
        Simulation* simulation_;
        int machine_;
        std::size_t workers_;
    };

    void add(int machine, std::span<detail::Lane* const> lanes) {
        for (auto* l : lanes) entries_.push_back({l, Task{*l}, machine, {}, {}, false});
    }
    [[nodiscard]] bool alive(int machine) const {
        return std::any_of(entries_.begin(), entries_.end(), [&](auto& e) { return e.machine == machine; });
    }
    void kill(int machine) {
        std::erase_if(entries_, [&](auto& e) { return e.machine == machine; });
    }
    [[nodiscard]] bool finished() const { return entries_.empty(); }

    /// The seed's choices, for whatever else a scenario leaves to chance.
    [[nodiscard]] bool chance(unsigned one_in) { return random_() % one_in == 0; }
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_() % n; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

    void step() {
        if (++steps_ > most_steps) throw std::runtime_error{"does not end: " + who()};
        auto const now = clock_.now();
        ready_.clear();
        auto next = TimePoint::max();
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            auto& e = entries_[i];
            if (e.stalled > now) next = std::min(next, e.stalled);
            else if (rung(e) || e.until <= now || chance(64)) ready_.push_back(i);  // now and then for nothing
            else next = std::min(next, e.until);
        }
        if (ready_.empty()) {
            if (next == TimePoint::max()) throw Deadlock{"every lane sleeps and nothing will wake one: " + who()};
            return clock_.advance_to(next);
        }
        auto const i = ready_[random_() % ready_.size()];
        auto& e = entries_[i];
        if (chance(24)) {  // a slow handler, a slow statement, a thread that is not scheduled
            auto const most = e.lane ? lane_stall_ : worker_stall_;
            e.stalled = now + Duration{static_cast<Duration::rep>(below(static_cast<std::uint64_t>(most.count())))};
            return;
        }
        bool const spurious = !rung(e) && e.until > now;
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

private:
    static constexpr std::uint64_t most_steps = 400'000;
    struct Entry {
        detail::Lane* lane;  // null: a task on the executor
        Task task;
        int machine;
        TimePoint until, stalled;
        bool asleep;
    };
    [[nodiscard]] static bool rung(Entry const& e) { return !e.asleep || e.lane->bell().is_rung(); }
    [[nodiscard]] std::string who() const {
        std::string s;
        for (auto const& e : entries_)
            s += "machine " + std::to_string(e.machine) + ' ' + (e.lane ? e.lane->name() : "worker") + "; ";
        return s;
    }

    std::mt19937_64 random_;
    ManualClock clock_;
    Duration lane_stall_, worker_stall_;
    std::vector<Entry> entries_;
    std::vector<std::size_t> ready_;
    std::uint64_t steps_ = 0;
};
static_assert(DrivingExecutor<Simulation::Executor>);

}  // namespace fila::testing
