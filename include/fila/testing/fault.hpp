// SPDX-License-Identifier: MIT
// Fault: the ways in which stores are wrong.
#pragma once

#include <fila/config.hpp>

#include <array>
#include <cstdint>

namespace fila::inline v1::testing {

/// One each: a store with it breaks a promise, and the kit has to notice.
enum class Fault : std::uint8_t {
    none,
    // claims
    claims_too_many,
    claims_two_at_most,
    claims_rows_in_hand,
    forgets_delay_of_put,
    loses_order,
    mixes_up_rows,
    ignores_priority,
    ignores_cursor,
    skips_a_row,
    never_begins_anew,
    dry_too_early,
    never_dry,
    throws_at_broken_row,
    // settles
    checks_no_fence,
    gives_fence_back,
    gives_fence_back_on_retry,
    gives_fence_back_on_rescue,
    gives_fence_back_on_redrive,
    settles_twice,
    completed_rows_come_back,
    discarded_rows_come_back,
    one_ack_for_all,
    throws_at_nothing_to_settle,
    forgets_delay_of_retry,
    forgets_delay_of_snooze,
    retry_counts_nothing,
    snooze_counts_a_failure,
    release_counts_a_failure,
    dead_letters_vanish,
    // leases
    rescues_live_rows,
    rescues_nobody,
    rescues_without_cap,
    rescues_without_bound,
    rescue_counts_nothing,
    rescue_counts_a_failure,
    extends_nothing,
    extends_never,
    extends_for_anybody,
    // transactions
    commits_on_rollback,
    commits_nothing,
    back_forgets_nothing,
    back_drops_locks,
    settles_before_commit,
    finishes_what_is_lost,
    locks_nothing,
    meets_own_locks,
    commit_completes_all,
    promises_too_many_transactions,
    // people
    counts_without_bound,
    counts_nothing,
    loses_the_reason,
    redrive_keeps_counters,
    redrives_all,
    redrives_nobody,
    wakes_nobody,
    forgets_on_reopen,  ///< the harness's to do
    count_,             ///< how many there are
};

/// What such a store does, as a sentence goes on after "it".
[[nodiscard]] constexpr char const* to_string(Fault fault) noexcept {
    constexpr std::array<char const*, static_cast<std::size_t>(Fault::count_)> names{
        "no fault",
        "claims more rows than were asked for",
        "claims two rows at most and says dry",
        "claims a row that is in hand",
        "forgets the delay of a row put in",
        "loses the order",
        "gives rows to each other's keys",
        "ignores priorities",
        "ignores the cursor",
        "moves the cursor past a row that it did not claim",
        "goes on where it was when asked to begin anew",
        "says dry while rows wait",
        "never says dry",
        "throws at a row that cannot be decoded",
        "checks no fence",
        "gives the fence back on a release",
        "gives the fence back on a retry or a snooze",
        "gives the fence back on a rescue",
        "gives the fence back on a redrive",
        "applies a settle twice",
        "gives completed rows back",
        "gives discarded rows back",
        "answers all settles with the first one's answer",
        "throws when there is nothing to settle",
        "forgets the delay of a retry",
        "forgets the delay of a snooze",
        "counts no retry",
        "counts a snooze as a failure",
        "counts a release as a failure",
        "loses dead letters",
        "rescues rows of the living",
        "rescues nobody",
        "rescues for ever, whatever the cap",
        "rescues more rows than it may",
        "counts no crash",
        "counts a crash as a failure too",
        "says extended and does nothing",
        "says lost and extends",
        "extends for whoever asks",
        "commits on rollback",
        "commits nothing",
        "keeps what was settled before back",
        "lets go of the rows at back",
        "settles before the commit",
        "commits with a settle that was refused",
        "locks no row in a transaction",
        "meets its own locks again",
        "completes what was claimed and not settled",
        "promises more transactions than it has",
        "counts beyond the bound",
        "counts nothing",
        "loses the reason of a dead letter",
        "redrives with the old counters",
        "redrives all when asked for one",
        "redrives nobody",
        "wakes nobody",
        "loses all when the process dies",
    };
    return fault < Fault::count_ ? names[static_cast<std::size_t>(fault)] : "?";
}

}  // namespace fila::inline v1::testing
