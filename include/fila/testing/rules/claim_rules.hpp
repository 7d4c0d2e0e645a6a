// SPDX-License-Identifier: MIT
// What a store promises of its claims.
#pragma once

#include <fila/testing/store_rule.hpp>

#include <algorithm>
#include <vector>

namespace fila::inline v1::testing {

/// The suite of that name.
template <StoreHarness H>
constexpr auto claim_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    using Key = typename Probe::Key;
    return std::to_array<StoreRule<H>>({
        {"claim: an empty store is dry", Need::nothing,
         [](Probe& p) { p.check(p.pass().size() == 0, "nothing is claimed where nothing is"); }},

        {"claim: a row in hand is not claimed again", Need::nothing,
         [](Probe& p) {
             auto const keys = p.put_many(3);
             p.require(p.pass().size() == 3, "the first pass takes all three rows");
             p.check(p.pass().size() == 0, "a second pass takes none of them");
             p.check(p.pass().size() == 0, "and a third neither");
             for (auto const& key : keys) p.check_state(key, RowState::processing);
         }},

        {"claim: no more rows than were asked for", Need::nothing,
         [](Probe& p) {
             p.put_many(5);
             p.check(p.claim(2).size() <= 2, "a claim of two rows takes at most two");
         }},

        {"claim: a limit beyond what waits takes what waits", Need::nothing,
         [](Probe& p) {
             p.put_many(3);
             p.check(p.pass(1000).size() == 3, "three rows wait, three are taken");
         }},

        {"claim: one by one until dry meets every row once", Need::nothing,
         [](Probe& p) {
             auto const keys = p.put_many(7);
             auto const all = p.pass(1);
             for (auto const& key : keys) p.check(all.times(key) == 1, "each row is met once");
         }},

        {"claim: batches until dry meet every row once", Need::nothing,
         [](Probe& p) {
             auto const keys = p.put_many(25);
             auto const all = p.pass(10);
             for (auto const& key : keys) p.check(all.times(key) == 1, "each row is met once");
         }},

        {"claim: the supply is not called dry while rows wait behind the cursor", Need::nothing,
         [](Probe& p) {
             p.put_many(6);
             auto const first = p.claim(2);
             p.check(first.supply == Supply::more, "two of six rows are taken: more");
         }},

        {"claim: a row comes back as it was put in", Need::number,
         [](Probe& p) {
             if constexpr (HasNumber<H>) {
                 std::vector<Key> keys;
                 for (std::int64_t n : {7, 3, 1'000'000'007}) keys.push_back(p.harness.put(n, {}));
                 auto const all = p.pass();
                 p.require(all.rows.size() == 3 && all.values.size() == 3, "all rows are taken");
                 for (std::size_t i = 0; i < 3; ++i) {
                     std::int64_t const numbers[] = {7, 3, 1'000'000'007};
                     auto const at = std::ranges::find(keys, all.rows[i].ticket.key) - keys.begin();
                     p.check(at < 3 && p.harness.number(all.values[i]) == numbers[at],
                             "each key with its own row");
                 }
             }
         }},

        {"claim: a row waits until it is due", Need::delayed_put,
         [](Probe& p) {
             auto const later = p.put({.delay = hours{1}});
             auto const now = p.put();
             auto const first = p.pass();
             p.check(first.size() == 1 && first.has(now), "only the row that is due is taken");
             p.check_state(later, RowState::pending);
             p.make_due(later);
             auto const second = p.pass();
             p.check(second.size() == 1 && second.has(later), "the other one when it is due");
         }},

        {"claim: rows come in the order they were put in", Need::order,
         [](Probe& p) {
             auto const keys = p.put_many(9);
             auto const all = p.pass(4);
             p.require(all.rows.size() == keys.size(), "all rows are taken");
             for (std::size_t i = 0; i < keys.size(); ++i)
                 p.check(all.rows[i].ticket.key == keys[i], "the older row comes first");
         }},

        {"claim: the urgent come first", Need::priority,
         [](Probe& p) {
             std::vector<Key> expected;
             std::vector<std::vector<Key>> by_priority(4);
             for (std::int64_t priority : {2, 0, 1, -1, 0, 2, -1, 1})
                 by_priority[static_cast<std::size_t>(priority + 1)].push_back(p.put({.priority = priority}));
             for (auto const& keys : by_priority) expected.insert(expected.end(), keys.begin(), keys.end());
             auto const all = p.pass(3);
             p.require(all.rows.size() == expected.size(), "all rows are taken");
             for (std::size_t i = 0; i < expected.size(); ++i)
                 p.check(all.rows[i].ticket.key == expected[i], "smaller priorities come first");
         }},

        {"claim: of one priority the longest due come first", first_of(Need::priority, Need::delayed_put),
         [](Probe& p) {
             auto const late = p.put({.delay = hours{1}}), early = p.put();
             p.make_due(late);
             auto const all = p.pass();
             p.require(all.rows.size() == 2, "both rows are taken");
             p.check(all.rows[0].ticket.key == early,
                     "what was due first comes first, not what was put in first");
         }},

        {"claim: one pass meets no row twice whatever becomes of it", Need::place,
         [](Probe& p) {
             std::vector<Key> keys;
             for (std::int64_t priority : {0, 1, 0, 1, 0, 1, 2, 2, 2})
                 keys.push_back(p.put({.priority = priority}));
             std::size_t met = 0;
             typename Probe::Claimed next;
             std::vector<Key> seen;
             for (Budget budget{p.findings, 100, "a pass whose rows are given back"};
                  next.supply == Supply::more && budget.spend();) {
                 next = p.claim(1, next.cursor);
                 for (auto const& taken : next.rows) {
                     p.check(std::ranges::count(seen, taken.ticket.key) == 0,
                             "no row is met twice in one pass");
                     seen.push_back(taken.ticket.key);
                     switch (met++ % 3) {
                         case 0:
                             p.settle(taken, release());
                             break;
                         case 1:
                             p.settle(taken, retry(Duration::zero(), "again"));
                             break;
                         default:
                             p.settle(taken, snooze(Duration::zero()));
                             break;
                     }
                 }
             }
             p.check(seen.size() == keys.size(), "each row is met once");
         }},

        {"claim: a new pass begins at the beginning", Need::nothing,
         [](Probe& p) {
             auto const keys = p.put_many(3);
             auto const first = p.pass();
             p.require(first.rows.size() == 3, "the first pass takes all rows");
             for (auto const& taken : first.rows) p.settle(taken, release());
             auto const second = p.pass();
             for (auto const& key : keys)
                 p.check(second.times(key) == 1, "a row given back is met by the next pass");
         }},

        {"claim: an urgent row that comes late is met by the next pass", Need::priority,
         [](Probe& p) {
             p.put({.priority = 5});
             auto const first = p.pass();
             p.require(first.rows.size() == 1, "the first pass takes the row");
             auto const urgent = p.put({.priority = -5});
             p.check(p.pass().has(urgent), "the next pass begins before it");
         }},

        {"claim: a row that cannot be decoded disturbs no other", Need::broken_rows,
         [](Probe& p) {
             if constexpr (HasPutBroken<H>) {
                 auto const before = p.put();
                 Key const broken = p.harness.put_broken();
                 auto const after = p.put();
                 auto const all = p.pass();
                 p.check(all.times(before) == 1 && all.times(after) == 1, "its neighbours are claimed");
                 p.check(std::ranges::count(all.broken, broken) == 1,
                         "it is claimed as broken, with its key");
                 p.check(!all.has(broken), "and not as a row");
             }
         }},

        {"claim: a row that cannot be decoded can be settled", Need::broken_rows,
         [](Probe& p) {
             if constexpr (HasPutBroken<H>) {
                 Key const broken = p.harness.put_broken();
                 batch_t<typename Probe::S> batch;
                 p.store->claim({10, {}, Probe::long_time}, batch);
                 p.require(batch.broken().size() == 1, "it is claimed as broken");
                 p.check(!batch.broken()[0].why.empty(), "and says why");
                 p.check_applied(
                     Probe::settle_in(*p.store, batch.broken()[0].ticket, dead_letter("undecodable")),
                     "a dead letter");
                 p.check_state(broken, RowState::dead);
             }
         }},
    });
}

}  // namespace fila::inline v1::testing
