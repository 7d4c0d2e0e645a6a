// SPDX-License-Identifier: MIT
// SimulatedWorld: one table, the machines that share it, and what really happened, kept apart from the table's
// own columns: an audit that reads those proves nothing.
#pragma once

#include "simulation.hpp"

#include <fila/store/memory_store.hpp>

#include <map>

namespace fila::testing {

class SimulatedWorld {
public:
    using Table = MemoryStore<int, ManualClock>;
    using Key = Table::key_type;

    SimulatedWorld(Simulation& s, ManualClock c) : simulation{s}, clock{c}, table{c, {.keep_finished = true}} {}

    Simulation& simulation;
    ManualClock clock;
    Table table;
    unsigned fault_one_in = 0;  ///< 0: none
    std::uint64_t lost = 0, rescued = 0;
    std::map<Key, unsigned> finals;
    std::string why;  ///< the first violation

    void bad(std::string what) {
        if (why.empty()) why = std::move(what);
    }
    /// A request that never arrives, or an answer that never comes back.
    void maybe_fail(char const* what, bool after) {
        if (fault_one_in && simulation.chance(fault_one_in)) throw Error{what, {.retryable = true, .maybe_applied = after}};
    }
    void owned(Key key, int machine, Duration lease) {
        auto& o = owners_[key];
        if (o.machine && o.until > clock.now()) bad("claimed under somebody's live lease");
        o = {machine, lease == forever ? TimePoint::max() : later(clock.now(), lease)};
    }
    void extended(Key key, int machine, Duration lease) {
        if (owners_[key].machine != machine) return bad("extended by one who does not own it");
        owners_[key].until = later(clock.now(), lease);
    }
    void settled(Key key, int machine, Outcome const& o) {
        if (owners_[key].machine != machine) return bad("settled by one who does not own it");
        owners_[key] = {};
        if (o.final() && ++finals[key] > 1) bad("finished twice");
    }
    void freed(Key key, int machine) {
        if (owners_[key].machine == machine) owners_[key] = {};
    }

private:
    struct Owner {
        int machine = 0;
        TimePoint until{};
    };
    std::map<Key, Owner> owners_;
};

/// One machine's connection to the table. Every verb may fail before or after its effect.
class Peer {
public:
    using Table = SimulatedWorld::Table;
    using row_type = Table::row_type;
    using key_type = Table::key_type;
    using cursor_type = Table::cursor_type;
    using Request = ClaimRequest<cursor_type>;
    using Rows = Batch<row_type, key_type>;
    using Settlements = std::span<Settlement<row_type, key_type> const>;

    Peer(SimulatedWorld& w, int machine) : world_{&w}, machine_{machine} {}

    ClaimResult<cursor_type> claim(Request const& r, Rows& out) {
        world_->maybe_fail("claim", false);
        auto const result = world_->table.claim(r, out);
        for (auto const& t : out.tickets()) world_->owned(t.key, machine_, r.lease);
        world_->maybe_fail("claim", true);
        return result;
    }
    void settle(Settlements s, std::span<Ack> acks) {
        world_->maybe_fail("settle", false);
        world_->table.settle(s, acks);
        for (std::size_t i = 0; i < s.size(); ++i) {
            if (acks[i] == Ack::applied) world_->settled(s[i].ticket.key, machine_, s[i].outcome);
            else ++world_->lost;
        }
        world_->maybe_fail("settle", true);
    }
    void extend(std::span<Ticket<key_type> const> tickets, Duration lease, std::span<Ack> acks) {
        world_->maybe_fail("extend", false);
        world_->table.extend(tickets, lease, acks);
        for (std::size_t i = 0; i < tickets.size(); ++i)
            if (acks[i] == Ack::applied) world_->extended(tickets[i].key, machine_, lease);
        world_->maybe_fail("extend", true);
    }
    Rescued rescue(RescueLimits const& limits) {
        world_->maybe_fail("rescue", false);
        auto const r = world_->table.rescue(limits);
        world_->rescued += r.rows();
        world_->maybe_fail("rescue", true);
        return r;
    }
    Counts counts(std::size_t at_most) {
        world_->maybe_fail("counts", false);
        return world_->table.counts(at_most);
    }
    std::vector<DeadLetter<row_type, key_type>> dead_letters(std::size_t n) { return world_->table.dead_letters(n); }
    std::size_t redrive(std::span<key_type const> keys) { return world_->table.redrive(keys); }
    std::size_t redrive_all() { return world_->table.redrive_all(); }

    class Transaction {
    public:
        using row_type = Peer::row_type;
        using key_type = Peer::key_type;
        using cursor_type = Peer::cursor_type;

        Transaction(SimulatedWorld& w, int machine, Table::Transaction inner)
            : world_{&w}, machine_{machine}, inner_{std::move(inner)} {}
        Transaction(Transaction&& o) noexcept
            : world_{std::exchange(o.world_, nullptr)}, machine_{o.machine_}, inner_{std::move(o.inner_)},
              locked_{std::move(o.locked_)}, settled_{std::move(o.settled_)}, marked_{o.marked_} {}
        Transaction& operator=(Transaction&& o) noexcept {
            std::swap(world_, o.world_), std::swap(machine_, o.machine_), std::swap(inner_, o.inner_);
            locked_.swap(o.locked_), settled_.swap(o.settled_), std::swap(marked_, o.marked_);
            return *this;
        }
        ~Transaction() {
            if (world_)
                for (auto k : locked_) world_->freed(k, machine_);
        }
        ClaimResult<cursor_type> claim(Request const& r, Rows& out) {
            world_->maybe_fail("claim", false);
            auto const result = inner_.claim(r, out);
            for (auto const& t : out.tickets()) world_->owned(t.key, machine_, forever), locked_.push_back(t.key);
            world_->maybe_fail("claim", true);
            return result;
        }
        void settle(Settlements s, std::span<Ack> acks) {
            world_->maybe_fail("settle", false);
            inner_.settle(s, acks);
            for (std::size_t i = 0; i < s.size(); ++i)
                if (acks[i] == Ack::applied) settled_.push_back({s[i].ticket.key, s[i].outcome});
            world_->maybe_fail("settle", true);
        }
        void mark() {
            world_->maybe_fail("mark", false);
            inner_.mark();
            marked_ = settled_.size();
        }
        void back() {
            world_->maybe_fail("back", false);
            inner_.back();
            settled_.resize(marked_);
        }
        void commit() {
            world_->maybe_fail("commit", false);
            inner_.commit();
            for (auto const& [key, outcome] : settled_) world_->settled(key, machine_, outcome);
            world_->maybe_fail("commit", true);
        }

    private:
        SimulatedWorld* world_;
        int machine_;
        Table::Transaction inner_;
        std::vector<key_type> locked_;
        std::vector<std::pair<key_type, Outcome>> settled_;
        std::size_t marked_ = 0;
    };
    using transaction_type = Transaction;
    std::optional<Transaction> begin() {
        world_->maybe_fail("begin", false);
        auto inner = world_->table.begin();
        if (!inner) return std::nullopt;
        return Transaction{*world_, machine_, std::move(*inner)};
    }

private:
    SimulatedWorld* world_;
    int machine_;
};
static_assert(LeasingStore<Peer> && TransactionalStore<Peer> && InspectableStore<Peer>);
static_assert(SavepointTransaction<Peer::Transaction>);

}  // namespace fila::testing
