// SPDX-License-Identifier: MIT
// InTransaction: the row is locked, handled and settled inside one transaction.
#pragma once

#include <fila/claim/claim_concept.hpp>

namespace fila::inline v1 {

/// One row, one transaction, one connection, one worker. The handler's writes through `context.transaction()`
/// and the row's new status commit together, exactly once; a process that dies leaves the row pending at
/// once.
///
/// Each worker asks for its own row, so that claims wait for no other. What a pass promises, that it meets a row at most
/// once, then holds for all but rows whose commit failed: a claim under way beside it may meet one of those again. Where
/// a failed row cannot be put off (no `due_at`) one worker asks at a time.
///
/// A handler that throws has its writes undone. If the table can record the failure (counters, a due time),
/// it is recorded and committed, the row locked all the while; else the row stays pending and the pass goes
/// on behind it. An Outcome that is *returned*, a failure too, keeps the writes.
///
/// Long handlers pin a connection and the database's clean-up horizon: use Leased for those. Each row in hand
/// needs a connection of the store: workers ≤ connections is checked at construction. On SQLite a transaction
/// is the one writer of the file, so one row is in hand at a time and others wait.
///
///   fila::Processor p{store, fila::InlineExecutor{}, pay, fila::InTransaction{}};
///   p.drain();   // a cron job, on this thread alone
struct InTransaction {
    using policy_role = claim_role;

    template <class S>
    struct Grant {
        std::optional<typename S::transaction_type> transaction;  ///< empty: no connection was free
    };
    static constexpr bool shared = false;

    template <class S>
    static consteval bool check() {
        detail::check_store_types<S>();
        static_assert(
            HasTransactionType<S>,
            "fila: InTransaction needs a store with transactions:  using transaction_type = …;  with claim, "
            "settle and commit, and  std::optional<transaction_type> begin();  this store has none: use "
            "fila::Leased{}");
        if constexpr (HasStoreTypes<S> && HasTransactionType<S>) detail::check_transactions<S>();
        return true;
    }
    template <class S>
    ClaimResult<cursor_t<S>> claim(S& s, Grant<S>& grant, ClaimRequest<cursor_t<S>> const& request,
                                   batch_t<S>& out) const {
        grant.transaction = s.begin();
        if (!grant.transaction) return {request.after, Supply::more};
        return grant.transaction->claim(request, out);
    }
};

}  // namespace fila::inline v1
