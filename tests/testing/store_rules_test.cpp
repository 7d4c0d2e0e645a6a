// SPDX-License-Identifier: MIT
// Has the store conformance kit teeth? Each fault fails the rules that are about it, and no other; each rule
// is failed by some fault.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <support/catch.hpp>
#include <testing/faulty_harness.hpp>
#include <vector>

namespace {

using fila::testing::Fault;
using fila_test::FaultyHarness;
using Rules = std::set<std::string_view>;

/// Whether a race shows depends on the threads, so these are left out of the comparison.
bool about_threads(std::string_view rule) { return rule.find("thread") != rule.npos; }

Rules failing_rules(Fault fault) {
    FaultyHarness::fault = fault;
    Rules failing;
    for (auto const& rule : fila::testing::store_rules<FaultyHarness>)
        if (!about_threads(rule.name) && !fila::testing::run_rule<FaultyHarness>(rule).empty())
            failing.insert(rule.name);
    return failing;
}
bool fails(Fault fault, std::string_view name) {
    FaultyHarness::fault = fault;
    for (auto const& rule : fila::testing::store_rules<FaultyHarness>)
        if (rule.name == name) return !fila::testing::run_rule<FaultyHarness>(rule).empty();
    FAIL("there is no rule " << name);
    return false;
}

std::map<Fault, Rules> const& expected() {
    static std::map<Fault, Rules> const table{
        {Fault::none, {}},
        {Fault::claims_too_many,
         {
             "claim: no more rows than were asked for",
             "inspect: rows are counted by state",
         }},
        {Fault::claims_two_at_most,
         {
             "claim: a row in hand is not claimed again",
             "claim: a limit beyond what waits takes what waits",
             "claim: one by one until dry meets every row once",
             "claim: batches until dry meet every row once",
             "claim: the supply is not called dry while rows wait behind the cursor",
             "claim: a row comes back as it was put in",
             "claim: rows come in the order they were put in",
             "claim: the urgent come first",
             "claim: one pass meets no row twice whatever becomes of it",
             "claim: a new pass begins at the beginning",
             "claim: a row that cannot be decoded disturbs no other",
             "settle: many outcomes are answered one by one",
             "lease: extends are answered one by one",
             "lease: a rescue takes no more rows than it may",
             "inspect: rows are counted by state",
             "inspect: dead letters are listed up to a bound",
             "inspect: a redrive of all brings every dead row back",
             "durable: what waits is still there after a kill",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::claims_rows_in_hand,
         {
             "claim: a row in hand is not claimed again",
             "claim: a row waits until it is due",
             "lease: a row whose lease ran out is rescued and claimed again",
             "lease: the old owner cannot complete the row of the new one",
             "lease: the old owner cannot give back the row of the new one",
             "lease: the old owner cannot extend the lease of the new one",
             "lease: a crash is counted and no failure",
             "lease: the last crash that is allowed is a dead letter",
             "lease: no state of the counters escapes the rescue",
             "fence: grows after a rescue",
             "peer: a row in hand is not claimed by the peer",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "durable: what was in hand is rescued when its lease runs out",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::forgets_delay_of_put,
         {
             "claim: a row waits until it is due",
             "claim: of one priority the longest due come first",
             "settle: a delay without end does not wrap around",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::loses_order,
         {
             "claim: rows come in the order they were put in",
             "claim: the urgent come first",
             "claim: of one priority the longest due come first",
         }},
        {Fault::mixes_up_rows,
         {
             "claim: a row comes back as it was put in",
         }},
        {Fault::ignores_priority,
         {
             "claim: the urgent come first",
         }},
        {Fault::ignores_cursor,
         {
             "claim: one pass meets no row twice whatever becomes of it",
         }},
        {Fault::skips_a_row,
         {
             "claim: one by one until dry meets every row once",
             "claim: batches until dry meet every row once",
             "claim: rows come in the order they were put in",
             "claim: the urgent come first",
             "claim: one pass meets no row twice whatever becomes of it",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::never_begins_anew,
         {
             "claim: a row waits until it is due",
             "claim: a new pass begins at the beginning",
             "claim: an urgent row that comes late is met by the next pass",
             "settle: the second settle of a claim is refused and changes nothing",
             "settle: a failure reported twice is counted once",
             "settle: a retry counts a failure",
             "settle: a retry waits for its delay",
             "settle: a snooze counts nothing",
             "settle: a snooze waits for its delay",
             "settle: a delay without end does not wrap around",
             "settle: a release gives the row back at once and counts nothing",
             "lease: a row whose lease ran out is rescued and claimed again",
             "lease: the old owner cannot complete the row of the new one",
             "lease: the old owner cannot give back the row of the new one",
             "lease: the old owner cannot extend the lease of the new one",
             "lease: an extend of a settled row is refused",
             "lease: a crash is counted and no failure",
             "lease: the last crash that is allowed is a dead letter",
             "lease: no state of the counters escapes the rescue",
             "fence: who gave a row back cannot settle it for its next owner",
             "fence: grows after a release",
             "fence: grows after a retry and a snooze",
             "fence: grows after a rescue",
             "fence: grows after a redrive",
             "transaction: a committed retry counts a failure and waits",
             "inspect: a redrive of all brings every dead row back",
             "inspect: a redriven row begins anew",
             "peer: sees what is put in and given back here",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "durable: what is finished stays finished after a kill",
             "durable: what was in hand is rescued when its lease runs out",
             "durable: failures outlive a kill",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::dry_too_early,
         {
             "claim: one by one until dry meets every row once",
             "claim: batches until dry meet every row once",
             "claim: the supply is not called dry while rows wait behind the cursor",
             "claim: rows come in the order they were put in",
             "claim: the urgent come first",
             "claim: one pass meets no row twice whatever becomes of it",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::throws_at_broken_row,
         {
             "claim: a row that cannot be decoded disturbs no other",
             "claim: a row that cannot be decoded can be settled",
         }},
        {Fault::checks_no_fence,
         {
             "settle: a ticket that never was is refused",
             "lease: the old owner cannot complete the row of the new one",
             "lease: the old owner cannot give back the row of the new one",
             "fence: who gave a row back cannot settle it for its next owner",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::gives_fence_back,
         {
             "fence: who gave a row back cannot settle it for its next owner",
             "fence: grows after a release",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::gives_fence_back_on_retry,
         {
             "fence: grows after a retry and a snooze",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::gives_fence_back_on_rescue,
         {
             "lease: the old owner cannot complete the row of the new one",
             "lease: the old owner cannot give back the row of the new one",
             "lease: the old owner cannot extend the lease of the new one",
             "fence: grows after a rescue",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "durable: what was in hand is rescued when its lease runs out",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::gives_fence_back_on_redrive,
         {
             "fence: grows after a redrive",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::settles_twice,
         {
             "settle: the second settle of a claim is refused and changes nothing",
             "settle: a failure reported twice is counted once",
             "settle: many outcomes are answered one by one",
             "fence: who gave a row back cannot settle it for its next owner",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::completed_rows_come_back,
         {
             "settle: a completed row is final",
             "settle: the second settle of a claim is refused and changes nothing",
             "settle: many outcomes are answered one by one",
             "lease: rows that wait or are done are left alone by a rescue",
             "lease: an extend of a settled row is refused",
             "lease: a settle and a rescue of one row: exactly one wins",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "durable: what is finished stays finished after a kill",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::discarded_rows_come_back,
         {
             "settle: a discarded row is final",
             "settle: many outcomes are answered one by one",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::one_ack_for_all,
         {
             "settle: many outcomes are answered one by one",
         }},
        {Fault::throws_at_nothing_to_settle,
         {
             "settle: nothing to settle is fine",
         }},
        {Fault::forgets_delay_of_retry,
         {
             "settle: a retry waits for its delay",
             "settle: a delay without end does not wrap around",
             "durable: failures outlive a kill",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::forgets_delay_of_snooze,
         {
             "settle: a snooze waits for its delay",
             "settle: a delay without end does not wrap around",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::retry_counts_nothing,
         {
             "settle: a failure reported twice is counted once",
             "settle: a retry counts a failure",
             "durable: failures outlive a kill",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::snooze_counts_a_failure,
         {
             "settle: a snooze counts nothing",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::release_counts_a_failure,
         {
             "settle: a release gives the row back at once and counts nothing",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::dead_letters_vanish,
         {
             "claim: a row that cannot be decoded can be settled",
             "settle: a dead letter is final",
             "settle: many outcomes are answered one by one",
             "fence: grows after a redrive",
             "inspect: rows are counted by state",
             "inspect: a dead letter is listed with its key and reason and history",
             "inspect: dead letters are listed up to a bound",
             "inspect: a redrive by key brings that row back and no other",
             "inspect: a redrive of all brings every dead row back",
             "inspect: a redriven row begins anew",
             "durable: what is finished stays finished after a kill",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::rescues_live_rows,
         {
             "lease: a live lease is left alone by a rescue",
             "peer: leaves live leases alone",
             "durable: what was in hand is rescued when its lease runs out",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::rescues_nobody,
         {
             "lease: a row whose lease ran out is rescued and claimed again",
             "lease: after a rescue the old owner can settle nothing",
             "lease: the old owner cannot complete the row of the new one",
             "lease: the old owner cannot give back the row of the new one",
             "lease: the old owner cannot extend the lease of the new one",
             "lease: a crash is counted and no failure",
             "lease: the last crash that is allowed is a dead letter",
             "lease: no state of the counters escapes the rescue",
             "lease: a rescue takes no more rows than it may",
             "lease: a claimed row whose lease is NULL is rescued",
             "fence: grows after a rescue",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "durable: what was in hand is rescued when its lease runs out",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::rescues_without_cap,
         {
             "lease: the last crash that is allowed is a dead letter",
             "lease: no state of the counters escapes the rescue",
         }},
        {Fault::rescues_without_bound,
         {
             "lease: a rescue takes no more rows than it may",
         }},
        {Fault::rescue_counts_nothing,
         {
             "lease: a crash is counted and no failure",
             "durable: what was in hand is rescued when its lease runs out",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::rescue_counts_a_failure,
         {
             "lease: a crash is counted and no failure",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::extends_nothing,
         {
             "lease: the old owner cannot extend the lease of the new one",
             "lease: an extend that is applied keeps the row from a rescue",
             "lease: an extend of a settled row is refused",
             "lease: extends are answered one by one",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::extends_never,
         {
             "lease: the old owner cannot extend the lease of the new one",
             "lease: an extend that is applied keeps the row from a rescue",
             "lease: extends are answered one by one",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::extends_for_anybody,
         {
             "lease: the old owner cannot extend the lease of the new one",
             "peer: rescues the rows of a dead owner and he is refused after that",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::commits_on_rollback,
         {
             "transaction: without a commit nothing has happened",
             "transaction: finish commits nothing with a settle that is refused",
         }},
        {Fault::commits_nothing,
         {
             "transaction: a commit settles",
             "transaction: finish settles and commits",
             "transaction: a committed retry counts a failure and waits",
             "transaction: back forgets what was settled after the mark",
         }},
        {Fault::finishes_what_is_lost,
         {
             "transaction: finish commits nothing with a settle that is refused",
         }},
        {Fault::back_forgets_nothing,
         {
             "transaction: back forgets what was settled after the mark",
         }},
        {Fault::back_drops_locks,
         {
             "transaction: back forgets what was settled after the mark",
             "transaction: back keeps the locks",
         }},
        {Fault::settles_before_commit,
         {
             "transaction: without a commit nothing has happened",
             "transaction: finish commits nothing with a settle that is refused",
             "transaction: nobody sees a settle before the commit",
             "transaction: back forgets what was settled after the mark",
         }},
        {Fault::locks_nothing,
         {
             "transaction: a commit settles",
             "transaction: without a commit nothing has happened",
             "transaction: finish settles and commits",
             "transaction: finish commits nothing with a settle that is refused",
             "transaction: a committed retry counts a failure and waits",
             "transaction: a locked row is claimed by nobody else",
             "transaction: back forgets what was settled after the mark",
             "transaction: back keeps the locks",
         }},
        {Fault::meets_own_locks,
         {
             "transaction: one pass meets no row twice under its own locks",
         }},
        {Fault::commit_completes_all,
         {
             "transaction: a row claimed and not settled is pending after the commit",
         }},
        {Fault::promises_too_many_transactions,
         {
             "transaction: begin answers nothing rather than wait",
         }},
        {Fault::counts_without_bound,
         {
             "inspect: counts stop at their bound",
             "inspect: dead letters are listed up to a bound",
         }},
        {Fault::counts_nothing,
         {
             "inspect: rows are counted by state",
             "inspect: a row that waits for its time is pending",
             "inspect: counts stop at their bound",
         }},
        {Fault::loses_the_reason,
         {
             "inspect: a dead letter is listed with its key and reason and history",
         }},
        {Fault::redrive_keeps_counters,
         {
             "inspect: a redriven row begins anew",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::redrives_all,
         {
             "inspect: a redrive by key brings that row back and no other",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::redrives_nobody,
         {
             "fence: grows after a redrive",
             "inspect: a redrive by key brings that row back and no other",
             "inspect: a redrive of all brings every dead row back",
             "inspect: a redriven row begins anew",
             "model: random histories agree with a model of ten lines",
         }},
        {Fault::wakes_nobody,
         {
             "notify: a row put in wakes who is subscribed",
         }},
        {Fault::forgets_on_reopen,
         {
             "durable: what waits is still there after a kill",
             "durable: what is finished stays finished after a kill",
             "durable: what was in hand is rescued when its lease runs out",
             "durable: failures outlive a kill",
         }},
    };
    return table;
}

}  // namespace

TEST_CASE("each planted fault fails the rules that are about it and no other") {
    for (int i = 0; i < static_cast<int>(Fault::count_); ++i) {
        auto const fault = static_cast<Fault>(i);
        if (fault == Fault::never_dry) continue;  // fails whatever needs a pass: see below
        DYNAMIC_SECTION("a store that has " << i << ": " << to_string(fault)) {
            REQUIRE(expected().count(fault) == 1);
            auto const& rules = expected().at(fault);
            auto const failing = failing_rules(fault);
            for (auto const& rule : rules) {
                INFO("should have failed: " << std::string{rule});
                CHECK(failing.count(rule) == 1);
            }
            for (auto const& rule : failing) {
                INFO("should not have failed: " << std::string{rule});
                CHECK(rules.count(rule) == 1);
            }
        }
    }
}

TEST_CASE("each rule is failed by some fault") {
    Rules failed;
    for (auto const& [fault, rules] : expected()) failed.insert(rules.begin(), rules.end());
    // These by faults that the table leaves out; the next tests show that they do fail.
    for (auto const* rule :
         {"claim: an empty store is dry", "threads: four of them take each row exactly once",
          "threads: extends and rescues among claims and settles disturb no live row",
          "peer: two threads here and two there take each row exactly once"})
        failed.insert(rule);
    for (auto const& rule : fila::testing::store_rules<FaultyHarness>) {
        INFO(std::string{rule.name});
        CHECK(rule.skip.empty());
        CHECK(failed.count(rule.name) == 1);
    }
}

TEST_CASE("a store that is never dry fails and does not hang") {
    CHECK(fails(Fault::never_dry, "claim: an empty store is dry"));
    CHECK(fails(Fault::never_dry, "claim: one by one until dry meets every row once"));
}

TEST_CASE("rules about threads fail for a store that hands rows out twice") {
    CHECK(fails(Fault::completed_rows_come_back, "threads: four of them take each row exactly once"));
    CHECK(fails(Fault::completed_rows_come_back,
                "peer: two threads here and two there take each row exactly once"));
    CHECK(fails(Fault::extends_never,
                "threads: extends and rescues among claims and settles disturb no live row"));
}

TEST_CASE("what a store throws is a finding of the rule") {
    FaultyHarness::fault = Fault::throws_at_nothing_to_settle;
    for (auto const& rule : fila::testing::store_rules<FaultyHarness>) {
        if (rule.name != "settle: nothing to settle is fine") continue;
        auto const findings = fila::testing::run_rule<FaultyHarness>(rule);
        REQUIRE(findings.all().size() == 1);
        CHECK(findings.all()[0].find("nothing to settle") != std::string::npos);
    }
}

TEST_CASE("names of rules are unique and fit into a filter") {
    Rules names;
    for (auto const& rule : fila::testing::store_rules<FaultyHarness>) {
        CHECK(names.insert(rule.name).second);
        CHECK(rule.name.find_first_of(",[]*~\"\\") == rule.name.npos);
        CHECK(rule.name.find(": ") != rule.name.npos);
    }
    CHECK(names.size() > 70);
}
