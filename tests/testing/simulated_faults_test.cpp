// SPDX-License-Identifier: MIT
// Which faults of a store a simulated world finds: those that lose a row, or have it worked on twice, all of them.
#include "support/catch.hpp"
#include "support/simulated_rows.hpp"
#include <fila/testing/faulty_store.hpp>

#include <iostream>
#include <set>
#include <string>

using fila::testing::Fault;

namespace {

constexpr std::uint64_t seeds = 5000;

/// The first seed that found it, or 0.
template <class Strategy>
std::uint64_t hunt(Fault fault, std::string& why) {
    fila_tests::Totals totals;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        why = fila_tests::simulate<Strategy>(seed, totals, [&](fila_tests::SimulatedTable table) {
            return fila::testing::FaultyStore{fault, std::move(table)};
        });
        if (!why.empty()) return seed;
    }
    return 0;
}

std::set<Fault> const of_leases{Fault::claims_too_many,
                                Fault::claims_two_at_most,
                                Fault::claims_rows_in_hand,
                                Fault::mixes_up_rows,
                                Fault::ignores_cursor,
                                Fault::skips_a_row,
                                Fault::never_begins_anew,
                                Fault::dry_too_early,
                                Fault::never_dry,
                                Fault::checks_no_fence,
                                Fault::gives_fence_back,
                                Fault::gives_fence_back_on_retry,
                                Fault::gives_fence_back_on_rescue,
                                Fault::settles_twice,
                                Fault::completed_rows_come_back,
                                Fault::discarded_rows_come_back,
                                Fault::one_ack_for_all,
                                Fault::forgets_delay_of_retry,
                                Fault::forgets_delay_of_snooze,
                                Fault::retry_counts_nothing,
                                Fault::snooze_counts_a_failure,
                                Fault::release_counts_a_failure,
                                Fault::dead_letters_vanish,
                                Fault::rescues_live_rows,
                                Fault::rescues_nobody,
                                Fault::rescues_without_cap,
                                Fault::rescue_counts_nothing,
                                Fault::rescue_counts_a_failure,
                                Fault::extends_nothing,
                                Fault::extends_never,
                                Fault::extends_for_anybody,
                                Fault::counts_nothing};
std::set<Fault> const of_transactions{Fault::commits_on_rollback, Fault::commits_nothing,
                                      Fault::back_drops_locks, Fault::settles_before_commit,
                                      Fault::locks_nothing};
/// Order, bounds, words, redrives and wake-ups: the conformance kit's affair. No world here has them happen.
std::set<Fault> const of_another_kind{Fault::forgets_delay_of_put,
                                      Fault::loses_order,
                                      Fault::ignores_priority,
                                      Fault::throws_at_broken_row,
                                      Fault::gives_fence_back_on_redrive,
                                      Fault::throws_at_nothing_to_settle,
                                      Fault::rescues_without_bound,
                                      Fault::back_forgets_nothing,
                                      Fault::meets_own_locks,
                                      Fault::finishes_what_is_lost,
                                      Fault::commit_completes_all,
                                      Fault::promises_too_many_transactions,
                                      Fault::counts_without_bound,
                                      Fault::loses_the_reason,
                                      Fault::redrive_keeps_counters,
                                      Fault::redrives_all,
                                      Fault::redrives_nobody,
                                      Fault::wakes_nobody,
                                      Fault::forgets_on_reopen};

template <class Strategy>
void find_all(std::set<Fault> const& faults) {
    for (auto const fault : faults) {
        std::string why;
        auto const seed = hunt<Strategy>(fault, why);
        std::cout << "a store that " << to_string(fault) << ": seed " << seed << ": " << why << '\n';
        INFO(to_string(fault));
        CHECK(seed > 0);
    }
}

}  // namespace

TEST_CASE("simulation: each fault of a leasing store that loses or doubles a row is found") {
    find_all<fila::Leased>(of_leases);
}
TEST_CASE("simulation: each fault of a transaction that loses or doubles a row is found") {
    find_all<fila::InTransaction>(of_transactions);
}
TEST_CASE("simulation: every fault is somebody's to find") {
    std::set<Fault> all;
    for (auto const* faults : {&of_leases, &of_transactions, &of_another_kind})
        for (auto const fault : *faults) CHECK(all.insert(fault).second);
    CHECK(all.size() == static_cast<std::size_t>(Fault::count_) - 1);  // but for "none"
}
