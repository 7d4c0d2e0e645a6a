// SPDX-License-Identifier: MIT
// What a store promises of its settles.
#pragma once

#include <fila/testing/store_rule.hpp>

namespace fila::inline v1::testing {

/// The suite of that name.
template <StoreHarness H>
constexpr auto settle_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"settle: a completed row is final", Need::nothing,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.check_applied(p.settle(taken, complete()), "a completion");
             p.check_state(taken.ticket.key, RowState::completed);
             p.check(p.pass().size() == 0, "nobody claims it again");
         }},

        {"settle: a discarded row is final", Need::nothing,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.check_applied(p.settle(taken, discard("a duplicate")), "a discard");
             p.check_state(taken.ticket.key, RowState::discarded);
             p.check(p.pass().size() == 0, "nobody claims it again");
         }},

        {"settle: a dead letter is final", Need::nothing,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.check_applied(p.settle(taken, dead_letter("no such account")), "a dead letter");
             p.check_state(taken.ticket.key, RowState::dead);
             p.check(p.pass().size() == 0, "nobody claims it again");
         }},

        {"settle: the second settle of a claim is refused and changes nothing", Need::nothing,
         [](Probe& p) {
             auto const done = p.put_and_take();
             p.check_applied(p.settle(done, complete()), "the first completion");
             p.check_refused(p.settle(done, complete()), "a second completion");
             p.check_refused(p.settle(done, release()), "a release after it");
             p.check_state(done.ticket.key, RowState::completed);
             auto const given_back = p.put_and_take();
             p.check_applied(p.settle(given_back, release()), "a release");
             p.check_refused(p.settle(given_back, complete()), "a completion after it");
             p.check_state(given_back.ticket.key, RowState::pending);
         }},

        {"settle: a failure reported twice is counted once", first_of(Need::failures, Need::delays),
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.check_applied(p.settle(taken, retry(hours{1}, "busy")), "the first retry");
             p.check_refused(p.settle(taken, retry(hours{1}, "busy")), "the second one");
             p.make_due(taken.ticket.key);
             p.check(p.take_one().history.failures == 1, "one failure is counted");
         }},

        {"settle: a ticket that never was is refused", Need::fence,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             for (std::int64_t const off : {-1, 1, 1000}) {
                 auto wrong = taken;
                 wrong.ticket.fence += off;
                 p.check_refused(p.settle(wrong, complete()), "a completion with another fence");
             }
             p.check_state(taken.ticket.key, RowState::processing);
             p.check_applied(p.settle(taken, complete()), "one with the right fence");
         }},

        {"settle: many outcomes are answered one by one", Need::nothing,
         [](Probe& p) {
             p.put_many(7);
             auto const rows = p.pass().rows;
             p.require(rows.size() == 7, "all rows are taken");
             p.settle(rows[1], complete());  // the one that will answer otherwise
             auto const acks = p.settle_all({{rows[0].ticket, complete("paid")},
                                             {rows[1].ticket, complete()},
                                             {rows[2].ticket, retry(hours{1}, "busy")},
                                             {rows[3].ticket, snooze(hours{1})},
                                             {rows[4].ticket, discard("a duplicate")},
                                             {rows[5].ticket, dead_letter("no such account")},
                                             {rows[6].ticket, release()}});
             for (std::size_t i = 0; i < acks.size(); ++i)
                 if (i != 1) p.check_applied(acks[i], "each settle but the repeated one");
             p.check_refused(acks[1], "the repeated one");
             RowState const expected[] = {RowState::completed, RowState::completed, RowState::pending,
                                          RowState::pending,   RowState::discarded, RowState::dead,
                                          RowState::pending};
             for (std::size_t i = 0; i < rows.size(); ++i) p.check_state(rows[i].ticket.key, expected[i]);
         }},

        {"settle: nothing to settle is fine", Need::nothing,
         [](Probe& p) {
             auto const key = p.put();
             p.settle_all({});
             p.check_state(key, RowState::pending);
         }},

        {"settle: a retry counts a failure", first_of(Need::failures, Need::delays),
         [](Probe& p) {
             p.put();
             for (std::uint32_t failures = 0; failures < 3; ++failures) {
                 auto const taken = p.take_one();
                 p.check(taken.history.failures == failures, "each retry adds one failure");
                 p.check(taken.history.crashes == 0, "and no crash");
                 p.check_applied(p.settle(taken, retry(hours{1}, "busy")), "a retry");
                 p.make_due(taken.ticket.key);
             }
         }},

        {"settle: a retry waits for its delay", Need::delays,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.settle(taken, retry(hours{1}, "busy"));
             p.check_state(taken.ticket.key, RowState::pending);
             p.check(p.pass().size() == 0, "a new pass does not meet it yet");
             p.make_due(taken.ticket.key);
             p.check(p.pass().has(taken.ticket.key), "when it is due, it does");
         }},

        {"settle: a snooze counts nothing", Need::delays,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.settle(taken, snooze(hours{1}));
             p.make_due(taken.ticket.key);
             auto const again = p.take_one();
             p.check(again.history.failures == 0 && again.history.crashes == 0,
                     "no failure and no crash is counted");
         }},

        {"settle: a snooze waits for its delay", Need::delays,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.settle(taken, snooze(hours{1}));
             p.check_state(taken.ticket.key, RowState::pending);
             p.check(p.pass().size() == 0, "a new pass does not meet it yet");
             p.make_due(taken.ticket.key);
             p.check(p.pass().has(taken.ticket.key), "when it is due, it does");
         }},

        {"settle: a delay without end does not wrap around", Need::delays,
         [](Probe& p) {
             if (H::traits.delayed_put) {
                 p.put({.delay = forever});
                 p.check(p.pass().size() == 0, "a row put in for ever later does not come");
             }
             p.put_many(2);
             auto const rows = p.pass().rows;
             p.require(rows.size() == 2, "the two others do");
             p.check_applied(p.settle(rows[0], retry(forever, "never again")), "a retry without end");
             p.check_applied(p.settle(rows[1], snooze(forever)), "a snooze without end");
             p.check(p.pass().size() == 0, "none of them comes back");
         }},

        {"settle: a release gives the row back at once and counts nothing", Need::nothing,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.check_applied(p.settle(taken, release()), "a release");
             p.check_state(taken.ticket.key, RowState::pending);
             auto const again = p.take_one();
             p.check(again.ticket.key == taken.ticket.key, "it is the same row");
             p.check(again.history.failures == 0 && again.history.crashes == 0,
                     "no failure and no crash is counted");
         }},
    });
}

}  // namespace fila::inline v1::testing
