// SPDX-License-Identifier: MIT
// Ordeal: workers under a fault for a while, then in peace until all is done; then the table is judged.
#pragma once

#include "chaos/bed.hpp"
#include "chaos/fleet.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

namespace fila_chaos {

inline constexpr auto lease = 1000ms;
inline constexpr auto poll_interval = 200ms;
/// A row whose key this divides fails at first, and then comes behind all others: it says nothing of recovery.
inline constexpr int fail_every = 50;

using SteadyTime = std::chrono::steady_clock::time_point;
inline double seconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double>(d).count();
}

/// How long a fault lasts or is repeated: FILA_SOAK_SECONDS, or what the test says.
inline std::chrono::milliseconds fault_period(std::chrono::milliseconds normal) {
    char const* const soak = std::getenv("FILA_SOAK_SECONDS");
    return soak != nullptr && *soak != '\0' ? std::chrono::seconds{std::stol(soak)} : normal;
}

struct Shape {
    std::size_t processes = 2;
    std::int64_t rows = 300;                 ///< kept open at least while the fault lasts
    std::chrono::milliseconds period{3000};  ///< of the fault, in a normal run
    std::vector<std::string> options{};      ///< more for the workers
};

class Ordeal {
public:
    Ordeal(std::string fault, Bed& bed, Strategy strategy, Shape shape = {})
        : fault_{std::move(fault)}, bed_{bed}, strategy_{strategy}, shape_{shape} {
        bed.enqueue(shape.rows);
        auto options = bed.worker_options();
        options.insert(options.end(),
                       {std::string{"strategy="} + word(strategy), "lease=" + std::to_string(lease.count()),
                        "work=5-20", "fail=" + std::to_string(fail_every)});
        options.insert(options.end(), shape.options.begin(), shape.options.end());
        fleet_.emplace(shape.processes, options, bed.directory());
        ready();
        wait([&] { return bed.done() > 0; }, "the first row");
        end_ = std::chrono::steady_clock::now() + fault_period(shape.period);
    }

    [[nodiscard]] Fleet& fleet() { return *fleet_; }
    void ready() {
        wait([&] { return fleet_->ready(); }, "the workers to open their stores");
    }
    [[nodiscard]] Bed& bed() { return bed_; }
    /// Whether the fault is to be repeated. There is always work enough for it.
    [[nodiscard]] bool goes_on() {
        if (std::chrono::steady_clock::now() >= end_) return false;
        fleet_->check();
        if (bed_.open() < shape_.rows) bed_.enqueue(shape_.rows);
        return true;
    }
    /// The fault is over: waits until whoever was hit by it is done, and then for all the others.
    void ceased() {
        auto const start = std::chrono::steady_clock::now();
        fleet_->check();
        auto const before = bed_.done();
        auto const hit = bed_.in_hand(fail_every);
        if (bed_.open() > 0) wait([&] { return bed_.done() > before; }, "a row after the fault");
        std::string keys = "0";
        for (auto const& key : hit) keys += "," + key;
        wait(
            [&] {
                return bed_.number("SELECT count(*) FROM {s}jobs WHERE status <> 'done' AND id IN (" + keys +
                                   ")") == 0;
            },
            "the rows that the fault hit");
        recovery_ = std::chrono::steady_clock::now() - start;
        wait([&] { return bed_.open() == 0; }, "the table to be drained");
    }
    /// Ends the workers and judges the table.
    /// A server that forgets claims has given out a row again, as if nobody had had it: with the same attempt.
    Verdict finish(bool forgets_claims = false) {
        totals_ = fleet_->stop();
        auto const v = bed_.judge(strategy_);
        report(v);
        CHECK(v.missing == 0);
        CHECK(v.lost == 0);
        CHECK(v.settled_twice == 0);
        CHECK(v.settled_stale == 0);
        CHECK(v.settled_early == 0);
        CHECK((v.twins == 0 || forgets_claims));
        CHECK(v.effects_wrong == 0);
        return v;
    }
    /// Prints the line of the table of results, and a second one for who wants to know more.
    void report(Verdict const& v) const {
        bool const leased = strategy_ == Strategy::leased;
        std::chrono::duration<double> const unit = leased ? lease : poll_interval;
        std::ostringstream line;
        line << "CHAOS | " << fault_ << " | " << bed_.store() << " | " << word(strategy_) << " | " << v.rows
             << " | " << v.lost + v.missing << " | " << v.settled_twice + v.settled_stale << " | "
             << std::fixed << std::setprecision(1) << recovery_ / unit << (leased ? " leases" : " polls")
             << "\n      more runs than rows " << v.extra_runs << ", told of a lost row " << v.told;
        for (auto const* const name : {"lost", "in_doubt", "rescued", "errors"})
            line << ", " << name << ' ' << totals_[name];
        std::cout << line.str() << std::endl;
    }
    [[nodiscard]] Totals const& totals() const { return totals_; }

    /// Looks until it is so; all the while nobody may end. The budget is what a broken program costs.
    template <class Done>
    void wait(Done done, char const* what, std::chrono::seconds budget = 60s) {
        auto const end = std::chrono::steady_clock::now() + budget;
        while (!done()) {
            fleet_->check();
            if (std::chrono::steady_clock::now() > end) {
                UNSCOPED_INFO(fleet_->last_words());
                FAIL("waited too long for " << what);
            }
            std::this_thread::sleep_for(5ms);
        }
    }

private:
    std::string fault_;
    Bed& bed_;
    Strategy strategy_;
    Shape shape_;
    std::optional<Fleet> fleet_;
    SteadyTime end_;
    std::chrono::steady_clock::duration recovery_{};
    Totals totals_;
};

/// A pause between two blows: it is the fault's rhythm, and nothing waits for it.
inline void pause(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

}  // namespace fila_chaos
