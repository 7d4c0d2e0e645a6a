// SPDX-License-Identifier: MIT
// What a store promises to people who look at it, and to those who want to be woken.
#pragma once

#include <fila/testing/store_rule.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace fila::inline v1::testing {

/// The suite of that name.
template <StoreHarness H>
constexpr auto inspect_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"inspect: rows are counted by state", Need::inspection,
         [](Probe& p) {
             p.put_many(6);
             auto const rows = p.claim(3).rows;
             p.require(rows.size() == 3, "three rows are taken");
             p.settle(rows[0], dead_letter("no such account"));
             auto const counts = p.counts();
             p.check(counts.pending == 3, "three are pending");
             p.check(counts.processing == 2, "two are in hand");
             p.check(counts.dead == 1, "one is dead");
         }},

        {"inspect: a row that waits for its time is pending", first_of(Need::inspection, Need::delayed_put),
         [](Probe& p) {
             p.put({.delay = hours{1}});
             p.check(p.counts().pending == 1, "one is pending");
         }},

        {"inspect: counts stop at their bound", Need::inspection,
         [](Probe& p) {
             p.put_many(5);
             p.check(p.counts(2).pending == 2, "two of five, as asked");
         }},

        {"inspect: a dead letter is listed with its key and reason and history", Need::inspection,
         [](Probe& p) {
             auto const taken = p.put_and_take();
             std::string const reason =
                 "O'Brien's \"account\"; -- \xC3\xBC \xF0\x9F\x99\x82 \\ %s $1 " + std::string(1000, 'x');
             p.settle(taken, dead_letter(reason));
             auto const letters = p.dead_letters();
             p.require(letters.size() == 1, "one letter is listed");
             p.check(letters[0].key == taken.ticket.key, "with its key");
             p.check(letters[0].row.has_value(), "with its row");
             p.check(letters[0].error == reason, "with its reason, to the byte");
             if (H::traits.counts_failures) p.check(letters[0].history.failures == 1, "with its failure");
         }},

        {"inspect: dead letters are listed up to a bound", Need::inspection,
         [](Probe& p) {
             p.put_many(4);
             for (auto const& taken : p.pass().rows) p.settle(taken, dead_letter("no such account"));
             p.check(p.dead_letters(3).size() == 3, "three of four, as asked");
             p.check(p.dead_letters().size() == 4, "else all");
         }},

        {"inspect: a redrive by key brings that row back and no other", Need::inspection,
         [](Probe& p) {
             p.put_many(2);
             auto const rows = p.pass().rows;
             p.require(rows.size() == 2, "both rows are taken");
             for (auto const& taken : rows) p.settle(taken, dead_letter("no such account"));
             p.check(p.redrive({rows[0].ticket.key}) == 1, "one row is redriven");
             p.check(p.redrive({rows[0].ticket.key}) == 0, "and only once");
             p.check_state(rows[0].ticket.key, RowState::pending);
             p.check_state(rows[1].ticket.key, RowState::dead);
         }},

        {"inspect: a redrive of all brings every dead row back", Need::inspection,
         [](Probe& p) {
             p.put_many(3);
             for (auto const& taken : p.pass().rows) p.settle(taken, dead_letter("no such account"));
             p.check(p.redrive_all() == 3, "three rows are redriven");
             p.check(p.counts().dead == 0, "none is dead");
             p.check(p.pass().rows.size() == 3, "all can be claimed at once");
         }},

        {"inspect: a redriven row begins anew", first_of(Need::inspection, Need::failures),
         [](Probe& p) {
             auto const taken = p.put_and_take();
             p.settle(taken, dead_letter("no such account"));
             p.redrive_all();
             auto const again = p.take_one();
             p.check(again.history.failures == 0 && again.history.crashes == 0, "with its counters at zero");
         }},

        {"notify: a row put in wakes who is subscribed", Need::notification,
         [](Probe& p) {
             if constexpr (NotifyingStore<typename Probe::S>) {
                 struct Bell {
                     std::mutex mutex;
                     std::condition_variable rung;
                     int rings = 0;
                 };
                 auto const bell = std::make_shared<Bell>();
                 auto subscription = p.store->subscribe([bell] {
                     std::lock_guard lock{bell->mutex};
                     ++bell->rings;
                     bell->rung.notify_all();
                 });
                 p.put();
                 std::unique_lock lock{bell->mutex};
                 p.check(bell->rung.wait_for(lock, H::traits.wakes_within, [&] { return bell->rings > 0; }),
                         "it is woken");
             }
         }},
    });
}

}  // namespace fila::inline v1::testing
