// SPDX-License-Identifier: MIT
// StoreProbe: how conformance rules talk to a store. Every verb is there for every harness, so that a rule
// reads as plain text; a rule that needs what the store lacks is skipped before it is run.
#pragma once

#include <fila/testing/findings.hpp>
#include <fila/testing/store_harness.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

using std::chrono::hours;
using std::chrono::minutes;

template <StoreHarness H>
class StoreProbe {
public:
    /// The store.
    using S = typename H::store_type;
    /// What names its rows.
    using Key = key_t<S>;
    /// Proof that one of them is ours.
    using RowTicket = ticket_t<S>;
    /// A lease that does not run out while a rule runs.
    static constexpr Duration long_time = hours{24};

    /// One claimed row, without the row.
    struct Taken {
        RowTicket ticket;  ///< for the settle
        History history;   ///< as the claim told it
    };
    /// What one claim, or one pass, brought.
    struct Claimed {
        std::vector<Taken> rows;       ///< in claim order
        std::vector<row_t<S>> values;  ///< of rows that could be decoded
        std::vector<Key> broken;       ///< of rows that could not be decoded
        cursor_t<S> cursor{};          ///< where it stopped
        Supply supply = Supply::more;  ///< what it said of the rest

        /// Broken rows included.
        [[nodiscard]] std::size_t size() const { return rows.size() + broken.size(); }
        /// How often the row is among them.
        [[nodiscard]] std::size_t times(Key const& key) const {
            return static_cast<std::size_t>(
                std::ranges::count_if(rows, [&](Taken const& t) { return t.ticket.key == key; }));
        }
        /// Whether the row is among them.
        [[nodiscard]] bool has(Key const& key) const { return times(key) > 0; }
    };

    /// Asks the harness's store, and writes what is wrong into `f`.
    StoreProbe(H& h, Findings& f) : harness{h}, store{&h.store()}, findings{f} {}

    // ---- putting in -----------------------------------------------------------------------------

    /// Puts in one row with a number of its own.
    Key put(EnqueueOptions const& options = {}) { return harness.put(++last_number_, options); }
    /// Puts in `n` rows; keys in that order.
    std::vector<Key> put_many(std::size_t n) {
        std::vector<Key> keys;
        for (std::size_t i = 0; i < n; ++i) keys.push_back(put());
        return keys;
    }
    /// As if the row's delay had passed.
    void make_due(Key const& key) {
        if constexpr (HasMakeDue<H>) harness.make_due(key);
    }
    /// As if the row's lease had run out.
    void expire(Key const& key) {
        if constexpr (HasExpire<H>) harness.expire(key);
    }

    // ---- claims ---------------------------------------------------------------------------------

    /// One claim, as it is.
    template <class Source>
    static Claimed claim_from(Source& source, std::size_t limit, cursor_t<S> const& after,
                              Duration lease = long_time) {
        batch_t<S> batch;
        auto const result = source.claim({limit, after, lease}, batch);
        Claimed claimed{{}, {}, {}, result.cursor, result.supply};
        for (std::size_t i = 0; i < batch.rows().size(); ++i)
            claimed.rows.push_back({batch.tickets()[i], batch.histories()[i]});
        claimed.values = std::move(batch.rows());
        for (auto const& b : batch.broken()) claimed.broken.push_back(b.ticket.key);
        return claimed;
    }
    /// One claim from the store.
    Claimed claim(std::size_t limit, cursor_t<S> const& after = {}, Duration lease = long_time) {
        return claim_from(*store, limit, after, lease);
    }
    /// A whole pass, until the supply is dry.
    template <class Source>
    Claimed pass_from(Source& source, std::size_t limit = 100) {
        Claimed all;
        for (Budget budget{findings, 1000, "a pass"}; all.supply == Supply::more && budget.spend();) {
            auto next = claim_from(source, limit, all.cursor);
            std::ranges::move(next.rows, std::back_inserter(all.rows));
            std::ranges::move(next.values, std::back_inserter(all.values));
            std::ranges::move(next.broken, std::back_inserter(all.broken));
            all.cursor = next.cursor, all.supply = next.supply;
        }
        return all;
    }
    /// A whole pass over the store.
    Claimed pass(std::size_t limit = 100) { return pass_from(*store, limit); }
    /// The only row that there is to claim.
    Taken take_one(std::source_location where = std::source_location::current()) {
        auto claimed = pass();
        findings.require(claimed.rows.size() == 1, "a pass meets the one row that waits", where);
        return claimed.rows.front();
    }
    /// Puts in one row and claims it.
    Taken put_and_take() {
        put();
        return take_one();
    }

    // ---- the other verbs ------------------------------------------------------------------------

    /// Settles one row in a store or in a transaction.
    template <class Source>
    static Ack settle_in(Source& source, RowTicket const& ticket, Outcome outcome) {
        std::array const settlements{settlement_t<S>{ticket, std::move(outcome), nullptr}};
        std::array acks{Ack::in_doubt};
        source.settle(settlements, acks);
        return acks[0];
    }
    /// Settles one row in a transaction and commits, at once.
    template <class Source>
    static Ack finish_in(Source& source, RowTicket const& ticket, Outcome outcome) {
        std::array const settlements{settlement_t<S>{ticket, std::move(outcome), nullptr}};
        std::array acks{Ack::in_doubt};
        if constexpr (FinishingTransaction<Source>) source.finish(settlements, acks);
        return acks[0];
    }
    /// Settles one row in the store.
    Ack settle(Taken const& taken, Outcome outcome) {
        return settle_in(*store, taken.ticket, std::move(outcome));
    }
    /// Settles many in one call; one answer for each.
    std::vector<Ack> settle_all(std::vector<settlement_t<S>> const& settlements) {
        std::vector<Ack> acks(settlements.size(), Ack::in_doubt);
        store->settle(settlements, acks);
        return acks;
    }
    /// Extends many in one call; one answer for each.
    std::vector<Ack> extend_all(std::vector<RowTicket> const& tickets, Duration lease = long_time) {
        std::vector<Ack> acks(tickets.size(), Ack::in_doubt);
        if constexpr (LeasingStore<S>) store->extend(tickets, lease, acks);
        return acks;
    }
    /// Extends the lease of one row.
    Ack extend(Taken const& taken, Duration lease = long_time) {
        return extend_all({taken.ticket}, lease)[0];
    }
    /// Rescues; of a store without leases nothing.
    Rescued rescue(RescueLimits const& limits = {}) {
        if constexpr (LeasingStore<S>) return store->rescue(limits);
        return {};
    }
    /// The owner dies, and the row is found again.
    void lose(Taken const& taken, std::source_location where = std::source_location::current()) {
        expire(taken.ticket.key);
        findings.require(rescue().rows() == 1, "a rescue finds the one row whose lease ran out", where);
    }
    /// Runs `body(transaction)` in a new transaction, which ends with it.
    template <class Body>
    void transact(Body body, std::source_location where = std::source_location::current()) {
        if constexpr (TransactionalStore<S>) {
            auto transaction = store->begin();
            findings.require(transaction.has_value(), "a transaction can be begun when none is open", where);
            body(*transaction);
        }
    }
    /// Counts; of a store that cannot be inspected nothing.
    Counts counts(std::size_t at_most = 1000) {
        if constexpr (InspectableStore<S>) return store->counts(at_most);
        return {};
    }
    /// Dead letters; of a store that cannot be inspected none.
    std::vector<dead_letter_t<S>> dead_letters(std::size_t at_most = 1000) {
        if constexpr (InspectableStore<S>) return store->dead_letters(at_most);
        return {};
    }
    /// Redrives; in a store that cannot be inspected nobody.
    std::size_t redrive(std::vector<Key> const& keys) {
        if constexpr (InspectableStore<S>) return store->redrive(keys);
        return 0;
    }
    /// Redrives; in a store that cannot be inspected nobody.
    std::size_t redrive_all() {
        if constexpr (InspectableStore<S>) return store->redrive_all();
        return 0;
    }

    /// A second store on the same data.
    S& peer() {
        if constexpr (HasPeer<H>)
            return harness.peer();
        else
            return *store;
    }
    /// The process dies; another one opens the data.
    void reopen() {
        if constexpr (HasReopen<H>) harness.reopen();
        store = &harness.store();
    }

    // ---- what the data say ----------------------------------------------------------------------

    /// What the harness finds in the data.
    RowState state(Key const& key) { return harness.state(key); }
    /// Finished rows may be erased; a dead one only if the harness says so.
    bool is(Key const& key, RowState expected) {
        auto const now = state(key);
        bool const may_be_erased = expected == RowState::completed || expected == RowState::discarded ||
                                   (expected == RowState::dead && !H::traits.keeps_dead);
        return now == expected || (may_be_erased && now == RowState::absent);
    }
    /// `sentence` says what should have been. Answers `ok`.
    bool check(bool ok, std::string_view sentence,
               std::source_location where = std::source_location::current()) {
        return findings.check(ok, sentence, where);
    }
    /// As check, and ends the rule.
    void require(bool ok, std::string_view sentence,
                 std::source_location where = std::source_location::current()) {
        findings.require(ok, sentence, where);
    }
    /// The row is in this state, or erased where that may be.
    void check_state(Key const& key, RowState expected,
                     std::source_location where = std::source_location::current()) {
        findings.check(is(key, expected),
                       std::string{"the row is "} + to_string(expected) + ", not " + to_string(state(key)),
                       where);
    }
    /// A repeat of a settle may be in doubt; what matters is that it is not applied.
    void check_refused(Ack ack, std::string_view what,
                       std::source_location where = std::source_location::current()) {
        findings.check(ack != Ack::applied, std::string{what} + " is not applied", where);
    }
    /// The answer is `applied`; `what` begins the sentence.
    void check_applied(Ack ack, std::string_view what,
                       std::source_location where = std::source_location::current()) {
        findings.check(ack == Ack::applied, std::string{what} + " is applied", where);
    }

    /// Where the data are looked at.
    H& harness;
    /// Another one after `reopen`.
    S* store;
    /// What was wrong so far.
    Findings& findings;

private:
    std::int64_t last_number_ = 0;
};

}  // namespace fila::inline v1::testing
