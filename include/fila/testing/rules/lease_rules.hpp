// SPDX-License-Identifier: MIT
// What a leasing store promises: an owner that dies loses its rows, one that lives keeps them, and who lost a
// row cannot touch it again.
#pragma once

#include <fila/testing/store_rule.hpp>

namespace fila::inline v1::testing {

/// The suite of that name.
template <StoreHarness H>
constexpr auto lease_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"lease: a row whose lease ran out is rescued and claimed again", Need::leases,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.expire(taken.ticket.key);
             auto const rescued = p.rescue();
             p.check(rescued.requeued == 1 && rescued.dead == 0, "one row is requeued");
             p.check_state(taken.ticket.key, RowState::pending);
             p.check(p.take_one().ticket.key == taken.ticket.key, "and can be claimed again");
         }},

        {"lease: a live lease is left alone by a rescue", Need::leases,
         [](Probe& p) {
             p.put_many(2);
             auto const rows = p.pass().rows;
             p.require(rows.size() == 2, "both rows are taken");
             p.check(p.rescue().rows() == 0, "nothing is stale, nothing is rescued");
             p.expire(rows[0].ticket.key);
             p.check(p.rescue().rows() <= 1, "one is stale, no more than one is rescued");
             p.check_state(rows[1].ticket.key, RowState::processing);
             p.check_applied(p.settle(rows[1], complete()), "the live owner's completion");
         }},

        {"lease: rows that wait or are done are left alone by a rescue", Need::leases,
         [](Probe& p) {
             auto const done = p.put_and_take();
             p.settle(done, complete());
             auto const waiting = p.put();
             p.check(p.rescue().rows() == 0, "nothing is rescued");
             p.check_state(done.ticket.key, RowState::completed);
             p.check_state(waiting, RowState::pending);
         }},

        {"lease: after a rescue the old owner can settle nothing", Need::leases,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.lose(taken);
             for (auto const& outcome : {complete(), retry(hours{1}, "late"), release(), dead_letter("late")})
                 p.check_refused(p.settle(taken, outcome), "what the old owner sends");
             p.check_state(taken.ticket.key, RowState::pending);
         }},

        {"lease: the old owner cannot complete the row of the new one", first_of(Need::leases, Need::fence),
         [](Probe& p) {
             auto const old = p.put_and_take();
             p.lose(old);
             auto const now = p.take_one();
             p.check_refused(p.settle(old, complete()), "the old owner's completion");
             p.check_state(old.ticket.key, RowState::processing);
             p.check_applied(p.settle(now, complete()), "the new owner's");
         }},

        {"lease: the old owner cannot give back the row of the new one", first_of(Need::leases, Need::fence),
         [](Probe& p) {
             auto const old = p.put_and_take();
             p.lose(old);
             auto const now = p.take_one();
             p.check_refused(p.settle(old, release()), "the old owner's release");
             p.check_state(old.ticket.key, RowState::processing);
             p.check_applied(p.settle(now, complete()), "the new owner's completion");
         }},

        {"lease: the old owner cannot extend the lease of the new one", first_of(Need::leases, Need::fence),
         [](Probe& p) {
             auto const old = p.put_and_take();
             p.lose(old);
             auto const now = p.take_one();
             p.check_refused(p.extend(old), "the old owner's extend");
             p.check_applied(p.extend(now), "the new owner's");
         }},

        {"lease: an extend that is applied keeps the row from a rescue", Need::leases,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.check_applied(p.extend(taken), "an extend of a live lease");
             p.expire(taken.ticket.key);
             // Whether a stale lease that nobody has rescued may still be extended is the store's affair;
             // but what it answers must be true.
             if (p.extend(taken) == Ack::applied) {
                 p.check(p.rescue().rows() == 0, "what was extended is not rescued");
                 p.check_state(taken.ticket.key, RowState::processing);
             } else {
                 p.check(p.rescue().rows() == 1, "what could not be extended is rescued");
             }
         }},

        {"lease: an extend of a settled row is refused", Need::leases,
         [](Probe& p) {
             auto const done = p.put_and_take();
             p.settle(done, complete());
             p.check_refused(p.extend(done), "an extend after the completion");
             auto const given_back = p.put_and_take();
             p.settle(given_back, release());
             p.check_refused(p.extend(given_back), "an extend after a release");
             p.check_state(given_back.ticket.key, RowState::pending);
         }},

        {"lease: extends are answered one by one", Need::leases,
         [](Probe& p) {
             p.put_many(3);
             auto const rows = p.pass().rows;
             p.require(rows.size() == 3, "all rows are taken");
             p.settle(rows[1], complete());
             auto const acks = p.extend_all({rows[0].ticket, rows[1].ticket, rows[2].ticket});
             p.check_applied(acks[0], "the first extend");
             p.check_refused(acks[1], "the second, of a completed row,");
             p.check_applied(acks[2], "the third");
         }},

        {"lease: a settle and a rescue of one row: exactly one wins", Need::leases,
         [](Probe& p) {
             auto const slow = p.put_and_take();
             p.expire(slow.ticket.key);
             bool const settled = p.settle(slow, complete()) == Ack::applied;
             bool const rescued = p.rescue().rows() == 1;
             p.check(settled != rescued, "settled, or else rescued");
             p.check_state(slow.ticket.key, settled ? RowState::completed : RowState::pending);
         }},

        {"lease: a crash is counted and no failure", first_of(Need::leases, Need::crashes),
         [](Probe& p) {
             p.put();
             for (std::uint32_t crashes = 0; crashes < 3; ++crashes) {
                 auto const taken = p.take_one();
                 p.check(taken.history.crashes == crashes, "each rescue adds one crash");
                 p.check(taken.history.failures == 0, "and no failure");
                 p.lose(taken);
             }
         }},

        {"lease: the last crash that is allowed is a dead letter", first_of(Need::leases, Need::crashes),
         [](Probe& p) {
             auto const first = p.put_and_take();
             p.expire(first.ticket.key);
             auto const once = p.rescue({.max_crashes = 2});
             p.check(once.requeued == 1 && once.dead == 0, "the first of two crashes requeues");
             auto const second = p.take_one();
             p.expire(second.ticket.key);
             auto const twice = p.rescue({.max_crashes = 2});
             p.check(twice.requeued == 0 && twice.dead == 1, "the second buries");
             p.check_state(first.ticket.key, RowState::dead);
             p.check(p.pass().size() == 0, "nobody claims it again");
         }},

        {"lease: no state of the counters escapes the rescue", first_of(Need::leases, Need::crashes),
         [](Probe& p) {  // the cap may have been lowered since the row crashed
             p.put();
             for (int i = 0; i < 3; ++i) p.lose(p.take_one());
             auto const taken = p.take_one();
             p.expire(taken.ticket.key);
             p.check(p.rescue({.max_crashes = 1}).dead == 1,
                     "a row far beyond the cap is buried, not forgotten");
         }},

        {"lease: a rescue takes no more rows than it may", Need::leases,
         [](Probe& p) {
             p.put_many(5);
             auto const rows = p.pass().rows;
             p.require(rows.size() == 5, "all rows are taken");
             for (auto const& taken : rows) p.expire(taken.ticket.key);
             std::size_t rescued = 0;
             for (Budget budget{p.findings, 20, "a rescue two rows at a time"};
                  rescued < 5 && budget.spend();) {
                 auto const some = p.rescue({.max_rows = 2}).rows();
                 p.check(some <= 2, "at most two at a time");
                 rescued += some;
             }
             p.check(rescued == 5, "five in all");
         }},

        {"lease: a claimed row whose lease is NULL is rescued", Need::null_leases,
         [](Probe& p) {
             if constexpr (HasClearLease<H>) {
                 auto const taken = p.put_and_take();
                 p.harness.clear_lease(taken.ticket.key);
                 p.check(p.rescue().rows() == 1, "it is rescued");
                 p.check_state(taken.ticket.key, RowState::pending);
             }
         }},
    });
}

/// The fence: one number a claim, never given back.
template <StoreHarness H>
constexpr auto fence_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"fence: who gave a row back cannot settle it for its next owner", Need::fence,
         [](Probe& p) {
             auto const first = p.put_and_take();
             p.settle(first, release());
             auto const second = p.take_one();
             p.check_refused(p.settle(first, complete()), "the first owner's completion");
             p.check_state(first.ticket.key, RowState::processing);
             p.check_applied(p.settle(second, complete()), "the second owner's");
         }},

        {"fence: grows after a release", Need::fence,
         [](Probe& p) {
             auto const first = p.put_and_take();
             p.settle(first, release());
             p.check(p.take_one().ticket.fence > first.ticket.fence, "a later claim has a larger fence");
         }},

        {"fence: grows after a retry and a snooze", first_of(Need::fence, Need::delays),
         [](Probe& p) {
             auto last = p.put_and_take();
             for (auto const& outcome : {retry(hours{1}, "busy"), snooze(hours{1})}) {
                 p.settle(last, outcome);
                 p.make_due(last.ticket.key);
                 auto const next = p.take_one();
                 p.check(next.ticket.fence > last.ticket.fence, "a later claim has a larger fence");
                 last = next;
             }
         }},

        {"fence: grows after a rescue", first_of(Need::fence, Need::leases),
         [](Probe& p) {
             auto const first = p.put_and_take();
             p.lose(first);
             p.check(p.take_one().ticket.fence > first.ticket.fence, "a later claim has a larger fence");
         }},

        {"fence: grows after a redrive", first_of(Need::fence, Need::inspection),
         [](Probe& p) {
             auto const first = p.put_and_take();
             p.settle(first, dead_letter("no such account"));
             p.redrive_all();
             p.check(p.take_one().ticket.fence > first.ticket.fence, "a later claim has a larger fence");
         }},
    });
}

}  // namespace fila::inline v1::testing
