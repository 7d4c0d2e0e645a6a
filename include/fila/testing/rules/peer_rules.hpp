// SPDX-License-Identifier: MIT
// What a store promises between processes, and from one life of a process to the next.
#pragma once

#include <fila/testing/rules/thread_rules.hpp>

namespace fila::inline v1::testing {

/// The suite of that name: two stores on the same data.
template <StoreHarness H>
constexpr auto peer_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"peer: a row in hand is not claimed by the peer", Need::peers,
         [](Probe& p) {
             auto const keys = p.put_many(2);
             auto const mine = p.claim(1).rows;
             p.require(!mine.empty(), "a row is taken");
             auto const theirs = p.pass_from(p.peer());
             for (auto const& taken : mine)
                 p.check(!theirs.has(taken.ticket.key), "the peer does not get it");
             p.check(mine.size() + theirs.rows.size() == keys.size(), "it gets the other");
         }},

        {"peer: sees what is put in and given back here", Need::peers,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.settle(taken, release());
             p.check(p.pass_from(p.peer()).has(taken.ticket.key), "the peer claims what was given back");
         }},

        {"peer: rescues the rows of a dead owner and he is refused after that",
         first_of(Need::peers, Need::leases, Need::fence),
         [](Probe& p) {
             if constexpr (LeasingStore<typename Probe::S>) {
                 auto const old = p.put_and_take();
                 p.expire(old.ticket.key);
                 p.check(p.peer().rescue({}).rows() == 1, "the peer finds the row");
                 auto const theirs = p.pass_from(p.peer()).rows;
                 p.require(theirs.size() == 1, "and claims it");
                 p.check_refused(p.settle(old, complete()), "the old owner's completion");
                 p.check_refused(p.extend(old), "the old owner's extend");
                 p.check_applied(Probe::settle_in(p.peer(), theirs[0].ticket, complete()),
                                 "the peer's completion");
                 p.check_state(old.ticket.key, RowState::completed);
             }
         }},

        {"peer: leaves live leases alone", first_of(Need::peers, Need::leases),
         [](Probe& p) {
             if constexpr (LeasingStore<typename Probe::S>) {
                 auto const taken = p.put_and_take();
                 p.check(p.peer().rescue({}).rows() == 0, "the peer rescues nothing");
                 p.check_applied(p.settle(taken, complete()), "the live owner's completion");
             }
         }},

        {"peer: two threads here and two there take each row exactly once",
         first_of(Need::peers, Need::threads),
         [](Probe& p) {
             auto const keys = p.put_many(100);
             auto& peer = p.peer();
             Tally<typename Probe::Key> tally;
             on_threads(p.findings, 4, [&](std::size_t i) {
                 work_off(i % 2 == 0 ? *p.store : peer, i + 1, keys.size(), tally);
             });
             for (auto const& key : keys)
                 p.check(tally.of_key(key) == std::pair{1, 1},
                         "each row is handed out once and completed once");
         }},
    });
}

/// The suite of that name: a store, and another one after it.
template <StoreHarness H>
constexpr auto durable_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"durable: what waits is still there after a kill", Need::durability,
         [](Probe& p) {
             auto const keys = p.put_many(3);
             p.reopen();
             auto const all = p.pass();
             for (auto const& key : keys) p.check(all.times(key) == 1, "each row is there");
         }},

        {"durable: what is finished stays finished after a kill", Need::durability,
         [](Probe& p) {
             auto const done = p.put_and_take();
             p.settle(done, complete());
             auto const dead = p.put_and_take();
             p.settle(dead, dead_letter("no such account"));
             p.reopen();
             p.check_state(done.ticket.key, RowState::completed);
             p.check_state(dead.ticket.key, RowState::dead);
             p.check(p.pass().size() == 0, "nobody claims it again");
         }},

        {"durable: what was in hand is rescued when its lease runs out",
         first_of(Need::durability, Need::leases),
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.reopen();
             p.check(p.pass().size() == 0, "until then it is not claimed");
             p.check(p.rescue().rows() == 0, "and not rescued");
             p.lose(taken);
             auto const again = p.take_one();
             p.check(again.ticket.key == taken.ticket.key, "then it is");
             if (H::traits.counts_crashes) p.check(again.history.crashes == 1, "with a crash counted");
             if (H::traits.has_fence) p.check(again.ticket.fence > taken.ticket.fence, "and a larger fence");
         }},

        {"durable: failures outlive a kill", first_of(Need::durability, Need::failures, Need::delays),
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.settle(taken, retry(hours{1}, "busy"));
             p.reopen();
             p.check(p.pass().size() == 0, "the row still waits");
             p.make_due(taken.ticket.key);
             p.check(p.take_one().history.failures == 1, "with its failure");
         }},
    });
}

}  // namespace fila::inline v1::testing
