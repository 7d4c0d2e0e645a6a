// SPDX-License-Identifier: MIT
// SimulatedAudit: what really happened to each row, kept apart from the table: an audit that reads the table's
// own columns proves nothing.
#pragma once

#include <fila/detail/text.hpp>
#include <fila/store/store_concept.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace fila::inline v1::testing {

template <class Table>
class SimulatedAudit {
public:
    /// Of the table.
    using Key = key_t<Table>;
    /// What is known of a row from what was answered.
    struct Row {
        int owner = 0;                            ///< the machine; 0: nobody
        TimePoint until{};                        ///< of the lease, by the world's clock
        std::int64_t fence = 0;                   ///< of the last claim that anybody saw
        TimePoint due = TimePoint::min();         ///< not to be claimed before
        std::uint32_t failures = 0, crashes = 0;  ///< as many as the table must have counted
        unsigned claims = 0, finals = 0;          ///< how often claimed, how often finished: once at most
    };
    /// What happened in one world.
    struct Totals {
        /// Rows, each time that it happened; `faults` are requests and answers that got lost.
        std::uint64_t claims = 0, applied = 0, lost = 0, rescued = 0, forgotten = 0, faults = 0;
    };

    /// `leased`: else it is locked by a transaction.
    void claimed(Ticket<Key> const& t, History const& h, int machine, TimePoint now, TimePoint until,
                 bool leased) {
        auto& r = rows_[t.key];
        ++totals_.claims, ++r.claims;
        if (r.finals) bad("a finished row was claimed", t.key);
        if (r.owner && r.until > now) bad("claimed under somebody's live lease", t.key);
        if (leased && t.fence <= r.fence) bad("a fence was used twice", t.key);
        if (offers_v<Table, ability::delay> && now < r.due) bad("claimed before it was due", t.key);
        if (r.owner) ++r.crashes;  // who had it said nothing, and it was rescued
        if (offers_v<Table, ability::crashes> && (h.crashes != r.crashes || r.crashes >= most_crashes_))
            bad("the crashes of a row are not counted, or not capped", t.key);
        if (offers_v<Table, ability::failures> && h.failures != r.failures)
            bad("the failures of a row are not counted", t.key);
        r.owner = machine, r.until = until, r.fence = t.fence;
    }
    /// The table has extended the lease.
    void extended(Ticket<Key> const& t, int machine, TimePoint until) {
        auto& r = rows_[t.key];
        if (r.owner != machine || r.fence != t.fence)
            return bad("extended for somebody who does not own it", t.key);
        r.until = until;
    }
    /// The table has applied the outcome.
    void settled(Ticket<Key> const& t, int machine, TimePoint now, Outcome const& o) {
        auto& r = rows_[t.key];
        ++totals_.applied;
        if (r.owner != machine || r.fence != t.fence)
            return bad("settled by somebody who does not own it", t.key);
        r.owner = 0;
        r.failures += o.failure() ? 1u : 0u;
        if (o.kind() == Outcome::Kind::retry || o.kind() == Outcome::Kind::snooze)
            r.due = later(now, o.delay());
        if (!o.final()) return;
        if (++r.finals > 1) bad("finished twice", t.key);
        ++(o.kind() == Outcome::Kind::dead_letter ? dead_ : done_);
    }
    /// For handlers to tell: a machine does not run a row beside itself, however often it comes back.
    void runs(Key const& key, int machine) {
        if (!running_.emplace(machine, key).second) bad("a row runs beside itself on one machine", key);
    }
    /// Its handler has returned: the machine settles it.
    void ran(Key const& key, int machine) { running_.erase({machine, key}); }
    /// Its handlers run no more.
    void died(int machine) {
        std::erase_if(running_, [&](auto const& running) { return running.first == machine; });
    }
    /// An open transaction ended without a word on the row.
    void let_go(Key const& key, int machine) {
        if (auto& r = rows_[key]; r.owner == machine) r.owner = 0;
    }
    /// The table does not know of the claim any more, and nobody had settled the row.
    void forgotten(Key const& key) {
        rows_[key].owner = 0;
        ++totals_.forgotten;
    }
    /// A settle was refused.
    void lost() { ++totals_.lost; }
    /// A request or an answer was lost.
    void fault() { ++totals_.faults; }
    /// The table has freed rows of the dead.
    void rescued(Rescued const& r, RescueLimits const& limits) {
        totals_.rescued += r.rows(), buried_ += r.dead;
        most_crashes_ = limits.max_crashes;
    }

    /// The first violation stays.
    void bad(std::string what) {
        if (why_.empty()) why_ = std::move(what);
    }
    /// Empty, or the first violation.
    [[nodiscard]] std::string const& why() const noexcept { return why_; }
    /// Up to now.
    [[nodiscard]] Totals const& totals() const noexcept { return totals_; }
    /// Those that were ever claimed.
    [[nodiscard]] std::map<Key, Row> const& rows() const noexcept { return rows_; }
    /// Rows that are completed or discarded; rows that are dead, by a settle or by a rescue.
    [[nodiscard]] std::size_t done() const noexcept { return done_; }
    /// Rows that are dead, by a settle or by a rescue.
    [[nodiscard]] std::size_t dead() const noexcept { return dead_ + buried_; }
    /// Rows that are dead by a rescue.
    [[nodiscard]] std::size_t buried() const noexcept { return buried_; }

private:
    void bad(char const* what, Key const& key) {
        bad(std::string{what} + " (row " + fila::detail::key_text(key) + ')');
    }

    std::map<Key, Row> rows_;
    std::set<std::pair<int, Key>> running_;
    std::size_t done_ = 0, dead_ = 0, buried_ = 0;
    std::uint32_t most_crashes_ = std::numeric_limits<std::uint32_t>::max();
    Totals totals_;
    std::string why_;
};

}  // namespace fila::inline v1::testing
