// SPDX-License-Identifier: MIT
// Store: where rows live. Two verbs make one; everything else is a refinement that the engine finds by
// itself.
//
// | expression | returns | semantics |
// |---|---|---|
// | `S::row_type` | movable | what handlers see |
// | `S::key_type` | copyable, moved without throwing, equality comparable | names a row for ever |
// | `S::cursor_type` | semiregular | `cursor_type{}` is the start of a pass; opaque to the engine |
// | `s.claim(request, batch)` | `ClaimResult<cursor_type>` | appends at most `request.limit` rows that are pending and due, in the store's order, all behind `request.after`, and makes them ours for `request.lease`. A row that cannot be decoded goes to `batch.add_broken`. After a throw the engine drops what was appended; leases free the rows |
// | `s.settle(settlements, acks)` | `void` | answers `acks[i]` for `settlements[i]`: applied, or lost where the row is not in hand under this fence. May be repeated after a throw: the fence makes that safe |
//
// One pass meets a row at most once: the cursor carries the pass's start by the store's own clock, each claim
// takes only rows due by then, and a retry or a snooze is due strictly later than the moment it is settled. A
// released row is due at once; that it keeps its place, which the cursor has left behind, or is stamped now,
// after the pass's start, keeps this pass from meeting it again.
//
// The engine calls each verb from several threads at once. What a verb throws is a fila::Error, and its traits
// decide what follows. Retryable, or maybe applied: the call is repeated, more and more slowly (a transaction
// is not: its row stays pending). Neither: a claim ends a drain; a settle is repeated in halves until the row
// is found that the store refuses, and that row, like the row of a commit, has failed and spends an attempt.
// So whatever is not the row's own fault is retryable: a lost connection, a full disk, a conflict.
//
// | refinement | adds | what it buys |
// |---|---|---|
// | LeasingStore | `extend(tickets, lease, acks)`, `rescue(limits)` | heartbeats; rows of the dead are found again. Without it a claim lasts until it is settled |
// | TransactionalStore | `begin()` | InTransaction: writes and status commit together |
// | ClosableStore | `closed()` | a supply that ends: `drain` and `run` end with it |
// | NotifyingStore | `subscribe(wake)` | a new row starts at once, not at the next interval |
// | ImmediateStore | `immediate` | rows are settled by whoever has finished them, and no thread is woken for it |
// | EnqueuingStore | `enqueue(rows)` | rows can be put in |
// | InspectableStore | `counts`, `dead_letters`, `redrive` | DrainUntil::nothing_open; tools for people |
#pragma once

#include <fila/types.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// What handlers of the store see.
template <class S>
using row_t = typename S::row_type;
/// What names a row of the store for ever.
template <class S>
using key_t = typename S::key_type;
/// Where a pass over the store stands.
template <class S>
using cursor_t = typename S::cursor_type;
/// What a claim of the store fills.
template <class S>
using batch_t = Batch<row_t<S>, key_t<S>>;
/// Proof that a row of the store is ours.
template <class S>
using ticket_t = Ticket<key_t<S>>;
/// An outcome on its way to the store.
template <class S>
using settlement_t = Settlement<row_t<S>, key_t<S>>;

// ---- atoms: one member each, so that a diagnostic can name the one that is missing --------------

template <class S>
concept HasRowType = requires { typename S::row_type; } && std::movable<row_t<S>>;
template <class S>
concept HasKeyType = requires { typename S::key_type; } && std::copyable<key_t<S>> &&
                     std::equality_comparable<key_t<S>> && std::is_nothrow_move_constructible_v<key_t<S>>;
template <class S>
concept HasCursorType = requires { typename S::cursor_type; } && std::semiregular<cursor_t<S>>;
template <class S>
concept HasStoreTypes = HasRowType<S> && HasKeyType<S> && HasCursorType<S>;
template <class S>
concept HasClaim =
    HasStoreTypes<S> && requires(S& s, ClaimRequest<cursor_t<S>> const& request, batch_t<S>& out) {
        { s.claim(request, out) } -> std::same_as<ClaimResult<cursor_t<S>>>;
    };
template <class S>
concept HasSettle =
    HasStoreTypes<S> && requires(S& s, std::span<settlement_t<S> const> settlements, std::span<Ack> acks) {
        { s.settle(settlements, acks) } -> std::same_as<void>;
    };

/// The two verbs. A transaction has the same two, so that both are sources of claims.
template <class S>
concept Store = HasClaim<S> && HasSettle<S>;

// ---- refinements --------------------------------------------------------------------------------

/// Bounds of one rescue. A row whose crash is its `max_crashes`-th is dead-lettered instead of requeued.
struct RescueLimits {
    std::uint32_t max_crashes = 5;  ///< at least 1
    std::size_t max_rows = 100;     ///< of one call; there may be more
};
/// What one rescue did.
struct Rescued {
    std::size_t requeued = 0;  ///< pending again
    std::size_t dead = 0;      ///< dead-lettered: their crash was the last one allowed
    /// Both. If it is RescueLimits::max_rows there may be more to rescue.
    [[nodiscard]] std::size_t rows() const noexcept { return requeued + dead; }
};

/// `extend` renews leases from now, answered one by one, fenced like a settle. `rescue` takes rows whose
/// lease ran out (by the store's clock; a claimed row without a lease counts as run out), adds a crash, and
/// makes them pending or dead; the fence stays, and grows at the next claim.
template <class S>
concept LeasingStore = Store<S> && requires(S& s, std::span<ticket_t<S> const> tickets, Duration lease,
                                            std::span<Ack> acks, RescueLimits const& limits) {
    { s.extend(tickets, lease, acks) } -> std::same_as<void>;
    { s.rescue(limits) } -> std::same_as<Rescued>;
};

/// A store whose claims are row locks and whose settles take effect together at `commit`, after which it is
/// only destroyed. Destroyed without commit: rolled back, and destructors do not throw. `commit` throwing with
/// `maybe_applied` means unknown. One thread at a time uses it, but not the same one from `begin` to the end.
/// Handlers get it from `context.transaction()`, or what its optional `handle()` returns.
template <class T>
concept Transaction = Store<T> && std::movable<T> && requires(T& t) {
    { t.commit() } -> std::same_as<void>;
};

/// `mark` remembers a point after the claim; `back` undoes what came after it and keeps the row's lock. So a
/// failed attempt can undo its writes and still be counted.
template <class T>
concept SavepointTransaction = Transaction<T> && requires(T& t) {
    { t.mark() } -> std::same_as<void>;
    { t.back() } -> std::same_as<void>;
};

/// `finish` is a settle that commits too, if every answer is `applied`: what cannot wait for the answer before it
/// sends the commit then need not. Else nothing is committed, and the transaction can only be destroyed. It throws
/// as both do.
template <class T>
concept FinishingTransaction =
    Transaction<T> && requires(T& t, std::span<settlement_t<T> const> settlements, std::span<Ack> acks) {
        { t.finish(settlements, acks) } -> std::same_as<void>;
    };

template <class S>
concept HasTransactionType = requires { typename S::transaction_type; };
template <class S>
concept HasBegin = HasTransactionType<S> && requires(S& s) {
    { s.begin() } -> std::same_as<std::optional<typename S::transaction_type>>;
};

/// `begin` hands out a transaction on a connection of its own, or nothing if none is free just now. It never
/// waits for one. An optional `max_transactions()` says how many can be open at once.
template <class S>
concept TransactionalStore = HasStoreTypes<S> && HasBegin<S> && Transaction<typename S::transaction_type> &&
                             std::same_as<key_t<S>, key_t<typename S::transaction_type>> &&
                             std::same_as<row_t<S>, row_t<typename S::transaction_type>> &&
                             std::same_as<cursor_t<S>, cursor_t<typename S::transaction_type>>;

/// A supply that can end: once `closed()` is true no row ever comes in.
template <class S>
concept ClosableStore = requires(S const& s) {
    { s.closed() } -> std::same_as<bool>;
};

/// `wake` is called, from any thread, when there may be work, until the returned subscription is destroyed.
/// A hint: polling stays the truth.
template <class S>
concept NotifyingStore = requires(S& s, std::function<void()> wake) {
    { s.subscribe(std::move(wake)) } -> std::movable;
};

/// A store with  static constexpr bool immediate = true;  says that its verbs wait for nothing: no disk, no network,
/// no other process.
template <class S>
concept ImmediateStore = Store<S> && S::immediate;

/// How rows enter. A delay makes them due later; smaller priorities go first where the store orders by it.
struct EnqueueOptions {
    Duration delay{};           ///< from now, by the store's clock; zero: due at once
    std::int64_t priority = 0;  ///< no meaning where the store has no order
};

/// `enqueue(rows, options)` says how many it has put in. A throw may leave some: see the store.
template <class S>
concept EnqueuingStore =
    HasRowType<S> && requires(S& s, std::span<row_t<S> const> rows, EnqueueOptions options) {
        { s.enqueue(rows, options) } -> std::same_as<std::size_t>;
    };

/// Rows by state, each counted up to a bound (a count of everything would be the dearest statement of all).
struct Counts {
    std::size_t pending = 0;     ///< that a claim could ever take, due or not
    std::size_t processing = 0;  ///< held by somebody, or left by somebody who died
    std::size_t dead = 0;        ///< dead-lettered and not redriven
    /// Rows that are not finished.
    [[nodiscard]] std::size_t open() const noexcept { return pending + processing; }
};

/// A row that was given up, for people.
template <class Row, class Key>
struct DeadLetter {
    Key key;                 ///< for `redrive`
    std::optional<Row> row;  ///< empty: it could not be decoded, and `error` says why if nothing else does
    History history;         ///< what brought it there
    std::string error;       ///< why the last attempt failed; empty where the store does not keep it
};
/// What the store lists of a row that was given up.
template <class S>
using dead_letter_t = DeadLetter<row_t<S>, key_t<S>>;

/// `counts(at_most)` bounds each count. `dead_letters(at_most)` lists in key order. `redrive(keys)` and
/// `redrive_all()` make dead rows pending with counters at zero, due now, and say how many they were.
template <class S>
concept InspectableStore =
    HasStoreTypes<S> && requires(S& s, std::size_t at_most, std::span<key_t<S> const> keys) {
        { s.counts(at_most) } -> std::same_as<Counts>;
        { s.dead_letters(at_most) } -> std::same_as<std::vector<dead_letter_t<S>>>;
        { s.redrive(keys) } -> std::same_as<std::size_t>;
        { s.redrive_all() } -> std::same_as<std::size_t>;
    };

namespace detail {

/// Says, one sentence each, what a transaction that a store promises lacks.
template <class S>
consteval bool check_transactions() {
    using T = typename S::transaction_type;
    static_assert(
        Transaction<T>,
        "fila store: transaction_type needs the types and the two verbs of a store, and  void commit();  "
        "and it must be movable");
    if constexpr (Transaction<T>) {
        static_assert(
            TransactionalStore<S> || !HasBegin<S>,
            "fila store: transaction_type needs the row_type, key_type and cursor_type of its store");
        static_assert(SavepointTransaction<T> || !(
                                                     requires { &T::mark; } || requires { &T::back; }),
                      "fila store: savepoints of a transaction are  void mark()  and  void back()");
        static_assert(
            FinishingTransaction<T> || !requires { &T::finish; },
            "fila store: finish of a transaction is  void finish(std::span<fila::Settlement<row_type, "
            "key_type> "
            "const>, std::span<fila::Ack>)");
        static_assert(
            HasBegin<S>,
            "fila store: has a transaction_type and needs  std::optional<transaction_type> begin()");
    }
    return true;
}

/// A member that has the name of a refinement's and not its form would be passed over without a word. (One that
/// is overloaded or a template has no address, and still is.)
template <class S>
consteval bool check_refinements() {
    static_assert(
        LeasingStore<S> || !(
                               requires { &S::extend; } || requires { &S::rescue; }),
        "fila store: leases need both  void extend(std::span<fila::Ticket<key_type> const>, fila::Duration, "
        "std::span<fila::Ack>)  and  fila::Rescued rescue(fila::RescueLimits const&)");
    if constexpr (HasTransactionType<S>) check_transactions<S>();
    static_assert(
        ClosableStore<S> || !requires(S& s) { s.closed(); }, "fila store: closed is  bool closed() const");
    static_assert(
        NotifyingStore<S> || !requires { &S::subscribe; },
        "fila store: subscribe takes a std::function<void()> and returns what ends the subscription when it "
        "is destroyed");
    static_assert(
        EnqueuingStore<S> || !requires { &S::enqueue; },
        "fila store: enqueue is  std::size_t enqueue(std::span<row_type const>, fila::EnqueueOptions)");
    static_assert(InspectableStore<S> || !(
                                             requires { &S::counts; } || requires { &S::dead_letters; } ||
                                             requires { &S::redrive; }),
                  "fila store: inspection needs all of  fila::Counts counts(std::size_t),  "
                  "std::vector<fila::DeadLetter<row_type, key_type>> dead_letters(std::size_t),  "
                  "std::size_t redrive(std::span<key_type const>)  and  std::size_t redrive_all()");
    return true;
}

/// Says, one sentence each, which types a would-be store lacks.
template <class S>
consteval bool check_store_types() {
    static_assert(HasRowType<S>, "fila store: needs  using row_type = …;  (movable)");
    static_assert(
        HasKeyType<S>,
        "fila store: needs  using key_type = …;  (copyable, moved without throwing, comparable with ==)");
    static_assert(HasCursorType<S>,
                  "fila store: needs  using cursor_type = …;  (semiregular; cursor_type{} is the start)");
    return true;
}
/// The same of its verbs too.
template <class S>
consteval bool check_store() {
    check_store_types<S>();
    if constexpr (HasStoreTypes<S>) {
        static_assert(
            HasClaim<S>,
            "fila store: needs  fila::ClaimResult<cursor_type> claim(fila::ClaimRequest<cursor_type> const&, "
            "fila::Batch<row_type, key_type>&)");
        static_assert(HasSettle<S>,
                      "fila store: needs  void settle(std::span<fila::Settlement<row_type, key_type> const>, "
                      "std::span<fila::Ack>)");
        if constexpr (Store<S>) check_refinements<S>();
    }
    return true;
}

}  // namespace detail

}  // namespace fila::inline v1
