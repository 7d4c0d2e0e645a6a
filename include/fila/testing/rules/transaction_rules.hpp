// SPDX-License-Identifier: MIT
// What a transactional store promises: a claim is a lock, a settle takes effect at commit.
#pragma once

#include <fila/testing/store_rule.hpp>

#include <algorithm>
#include <utility>

namespace fila::inline v1::testing {

/// The suite of that name.
template <StoreHarness H>
constexpr auto transaction_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"transaction: a commit settles", Need::transactions,
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 p.check_applied(Probe::settle_in(t, rows[0].ticket, complete()), "a completion");
                 t.commit();
             });
             p.check_state(key, RowState::completed);
             p.check(p.pass().size() == 0, "nobody claims it again");
         }},

        {"transaction: finish settles and commits", Need::finish,
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 p.check_applied(Probe::finish_in(t, rows[0].ticket, complete()), "a completion");
             });
             p.check_state(key, RowState::completed);
         }},

        {"transaction: finish commits nothing with a settle that is refused", Need::finish,
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 p.check_applied(Probe::settle_in(t, rows[0].ticket, complete()), "a completion");
                 p.check_refused(Probe::finish_in(t, rows[0].ticket, complete()), "another one");
             });
             p.check_state(key, RowState::pending);
         }},

        {"transaction: without a commit nothing has happened", Need::transactions,
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 p.check_applied(Probe::settle_in(t, rows[0].ticket, complete()), "a completion");
             });
             p.check_state(key, RowState::pending);
             auto const again = p.take_one();
             p.check(again.history.failures == 0 && again.history.crashes == 0,
                     "no failure and no crash is counted");
         }},

        {"transaction: a row claimed and not settled is pending after the commit", Need::transactions,
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 p.require(p.pass_from(t).size() == 1, "the row is claimed");
                 t.commit();
             });
             p.check_state(key, RowState::pending);
             p.check(p.pass().has(key), "and can be claimed");
         }},

        {"transaction: a committed retry counts a failure and waits",
         first_of(Need::transactions, Need::failures, Need::delays),
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 Probe::settle_in(t, rows[0].ticket, retry(hours{1}, "busy"));
                 t.commit();
             });
             p.check(p.pass().size() == 0, "it waits");
             p.make_due(key);
             p.check(p.take_one().history.failures == 1, "with one failure");
         }},

        {"transaction: a locked row is claimed by nobody else",
         first_of(Need::transactions, Need::concurrent_transactions),
         [](Probe& p) {
             p.put_many(3);
             p.transact([&](auto& t) {
                 auto const mine = Probe::claim_from(t, 2, {}).rows;
                 p.require(!mine.empty(), "rows are claimed");
                 p.transact([&](auto& other) {
                     auto const theirs = p.pass_from(other);
                     for (auto const& taken : mine)
                         p.check(!theirs.has(taken.ticket.key), "another transaction claims none of those");
                 });
                 auto const others = p.pass();
                 for (auto const& taken : mine) p.check(!others.has(taken.ticket.key), "the store neither");
             });
         }},

        {"transaction: nobody sees a settle before the commit",
         first_of(Need::transactions, Need::concurrent_transactions),
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 Probe::settle_in(t, rows[0].ticket, complete());
                 p.check_state(key, RowState::pending);
                 t.commit();
             });
         }},

        {"transaction: one pass meets no row twice under its own locks", Need::transactions,
         [](Probe& p) {
             auto const keys = p.put_many(25);
             p.transact([&](auto& t) {
                 auto const all = p.pass_from(t, 10);
                 for (auto const& key : keys) p.check(all.times(key) == 1, "each row is met once");
             });
         }},

        {"transaction: back forgets what was settled after the mark", Need::savepoints,
         [](Probe& p) {
             auto const key = p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 if constexpr (SavepointTransaction<std::remove_reference_t<decltype(t)>>) {
                     t.mark();
                     Probe::settle_in(t, rows[0].ticket, complete());
                     t.back();
                     p.check_applied(Probe::settle_in(t, rows[0].ticket, dead_letter("no such account")),
                                     "another outcome instead");
                 }
                 t.commit();
             });
             p.check_state(key, RowState::dead);
         }},

        {"transaction: back keeps the locks", first_of(Need::savepoints, Need::concurrent_transactions),
         [](Probe& p) {
             p.put();
             p.transact([&](auto& t) {
                 auto const rows = p.pass_from(t).rows;
                 p.require(rows.size() == 1, "the row is claimed");
                 if constexpr (SavepointTransaction<std::remove_reference_t<decltype(t)>>) {
                     t.mark();
                     Probe::settle_in(t, rows[0].ticket, complete());
                     t.back();
                 }
                 p.check(p.pass().size() == 0, "the row is still this transaction's");
             });
         }},

        {"transaction: begin answers nothing rather than wait", Need::transactions,
         [](Probe& p) {
             if constexpr (TransactionalStore<typename Probe::S>) {
                 constexpr std::size_t enough = 64;
                 std::vector<typename Probe::S::transaction_type> open;
                 while (open.size() < enough) {
                     auto one = p.store->begin();
                     if (!one) break;
                     open.push_back(std::move(*one));
                 }
                 p.check(!open.empty(), "one can be begun");
                 if constexpr (requires { p.store->max_transactions(); })
                     p.check(open.size() == std::min(enough, std::size_t{p.store->max_transactions()}),
                             "as many as max_transactions() says");
                 open.clear();
                 p.check(p.store->begin().has_value(), "when they have ended, others can be begun");
             }
         }},
    });
}

}  // namespace fila::inline v1::testing
