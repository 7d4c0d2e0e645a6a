// SPDX-License-Identifier: MIT
// SimulatedNetwork: what lies between the machines and the table of a simulated world, and sees all that passes.
#pragma once

#include <fila/testing/simulated_audit.hpp>
#include <fila/testing/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

template <class Table>
class SimulatedNetwork {
public:
    /// What is told of every request that arrives.
    using Audit = SimulatedAudit<Table>;

    /// The table's clock is the world's.
    SimulatedNetwork(Simulation& s, ManualClock clock, Table& table)
        : simulation_{s}, clock_{std::move(clock)}, table_{table} {}

    /// One in so many requests and answers is lost; 0: none.
    void fault_one_in(unsigned n) noexcept { fault_one_in_ = n; }
    /// The one that all machines share.
    [[nodiscard]] Table& table() noexcept { return table_; }
    /// What has really happened.
    [[nodiscard]] Audit& audit() noexcept { return audit_; }
    /// What has really happened.
    [[nodiscard]] Audit const& audit() const noexcept { return audit_; }
    /// By the world's clock.
    [[nodiscard]] TimePoint now() const noexcept { return clock_.now(); }
    /// When a lease that is taken now runs out; `forever` never does.
    [[nodiscard]] TimePoint until(Duration lease) const noexcept {
        return lease == forever ? TimePoint::max() : later(now(), lease);
    }

    /// A request sets out. It may get lost, or arrive when nobody waits for the answer any more: `late` then.
    template <class Late>
    void before(char const* verb, Late late) {
        if (!simulation_.chance(fault_one_in_)) return;
        audit_.fault();
        bool const on_its_way = simulation_.chance(2);
        if (on_its_way) late_.emplace_back(std::move(late));
        throw Error{std::string{verb} + (on_its_way ? ": no answer" : ": no connection"),
                    {.retryable = true, .maybe_applied = on_its_way}};
    }
    /// The answer sets out.
    void after(char const* verb) {
        if (!simulation_.chance(fault_one_in_)) return;
        audit_.fault();
        throw Error{std::string{verb} + ": the answer was lost", {.retryable = true, .maybe_applied = true}};
    }
    /// One of the requests on their way arrives.
    void arrive() {
        if (late_.empty()) return;
        auto const i = simulation_.below(late_.size());
        std::swap(late_[i], late_.back());
        auto const request = std::move(late_.back());
        late_.pop_back();
        request();
    }
    /// The server crashes, and comes back without the claims that it had not written to its disk: their rows are
    /// pending. What was on its way never arrives.
    void crash() {
        ++era_;
        late_.clear();
        std::vector<settlement_t<Table>> undone;
        for (auto const& ticket : unwritten_) undone.push_back({ticket, release(), nullptr});
        std::vector<Ack> acks(undone.size(), Ack::lost);
        table_.settle(undone, acks);
        for (std::size_t i = 0; i < undone.size(); ++i)
            if (acks[i] == Ack::applied) audit_.forgotten(undone[i].ticket.key);
        unwritten_.clear();
    }
    /// How often it has crashed.
    [[nodiscard]] std::uint64_t era() const noexcept { return era_; }
    /// A claim waits for no disk.
    void not_yet_on_disk(batch_t<Table> const& rows) {
        unwritten_.insert(unwritten_.end(), rows.tickets().begin(), rows.tickets().end());
    }
    /// A settle does, and takes along what was before it.
    void on_disk() noexcept { unwritten_.clear(); }
    /// Whether nothing is on its way.
    [[nodiscard]] bool quiet() const noexcept { return late_.empty(); }

    /// Of a batch that was empty before.
    void claimed(batch_t<Table> const& rows, std::size_t limit, int machine, Duration lease, bool leased) {
        if (rows.size() > limit) audit_.bad("more rows claimed than were asked for");
        for (std::size_t i = 0; i < rows.tickets().size(); ++i)
            audit_.claimed(rows.tickets()[i], rows.histories()[i], machine, now(), until(lease), leased);
        for (auto const& b : rows.broken())
            audit_.claimed(b.ticket, b.history, machine, now(), until(lease), leased);
    }

private:
    Simulation& simulation_;
    ManualClock clock_;
    Table& table_;
    Audit audit_;
    unsigned fault_one_in_ = 0;
    std::uint64_t era_ = 0;
    std::vector<ticket_t<Table>> unwritten_;
    std::vector<std::function<void()>> late_;
};

}  // namespace fila::inline v1::testing
