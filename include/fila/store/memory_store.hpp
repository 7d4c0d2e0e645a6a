// SPDX-License-Identifier: MIT
// MemoryStore: rows in this process's memory. The reference for what a store must do, and the one for tests.
//
//   fila::MemoryStore<Payment> store;
//   store.enqueue(payments);                                  // any range
//   fila::Processor p{store, fila::ThreadPool{4}, [](Payment const& x) { pay(x); }};
//   p.drain();
//
// When to use: tests of handlers and policies (with a ManualClock no test sleeps), and queues that may be
// lost with the process. Alternatives: ChannelStore where a producer must wait when the queue is full, or
// rows can only be moved; SqliteStore and PostgresStore where rows must outlive the process. It has what
// those have: order by priority, leases, fences, transactions, dead letters; only durability is missing.
//
// Thread safety: all members may be called from several threads at once. Transactions and subscriptions may
// outlive the store. Costs: a claim or a settle is O(rows taken), nothing depends on how many rows wait.
#pragma once

#include <fila/clock/system_clock.hpp>
#include <fila/store/memory_core.hpp>
#include <fila/store/wake_list.hpp>

#include <ranges>

#include <initializer_list>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace fila::inline v1 {

/// What a MemoryStore keeps, and how much of it at once.
struct MemoryOptions {
    /// Keep completed and discarded rows, to look at them with find(). Otherwise they are erased.
    bool keep_finished = false;
    /// begin() answers nothing while this many are open: what a pool of connections does.
    std::size_t max_transactions = std::numeric_limits<std::size_t>::max();
};

template <class Row, Clock C = SystemClock>
class MemoryStore {
    static_assert(
        std::copyable<Row>,
        "fila: MemoryStore keeps each row until it is settled and lends a copy of it to every attempt, so "
        "rows must be copyable: use std::shared_ptr<Row>, or a ChannelStore");

public:
    class Transaction;
    using row_type = Row;
    using key_type = std::int64_t;  ///< from 1, never used again
    using transaction_type = Transaction;

    static constexpr bool immediate = true;  ///< no verb waits
    /// Where a pass stands, and when it began: it takes only rows that were due then.
    struct cursor_type {
        std::optional<TimePoint> start;               ///< empty: the pass has not begun
        std::optional<detail::RowPosition> position;  ///< of the last row met
        friend bool operator==(cursor_type const&, cursor_type const&) = default;
    };
    using request_type = ClaimRequest<cursor_type>;
    using batch_type = Batch<Row, key_type>;
    using ticket_type = Ticket<key_type>;
    using settlement_type = Settlement<Row, key_type>;

    /// Leases and delays are by `clock`.
    explicit MemoryStore(C clock = {}, MemoryOptions options = {})
        : shared_{std::make_shared<Shared>(std::move(clock), options)} {}
    MemoryStore(MemoryStore&&) noexcept = default;
    MemoryStore& operator=(MemoryStore&&) noexcept = default;

    // ---- Store ----------------------------------------------------------------------------------

    /// In order of (priority, due, key).
    ClaimResult<cursor_type> claim(request_type const& request, batch_type& out) {
        std::lock_guard lock{shared_->mutex};
        return shared_->claim(request, out, Core::Hold::lease);
    }
    /// A row as the handler left it (`Settlement::row`) replaces the stored one, if that is kept.
    void settle(std::span<settlement_type const> settlements, std::span<Ack> acks) {
        std::lock_guard lock{shared_->mutex};
        auto const now = shared_->clock.now();
        for (std::size_t i = 0; i < settlements.size(); ++i) {
            auto const& [ticket, outcome, row] = settlements[i];
            acks[i] = shared_->core.settle(ticket, outcome, row, now) ? Ack::applied : Ack::lost;
        }
    }

    // ---- LeasingStore ---------------------------------------------------------------------------

    void extend(std::span<ticket_type const> tickets, Duration lease, std::span<Ack> acks) {
        std::lock_guard lock{shared_->mutex};
        auto const until = later(shared_->clock.now(), lease);
        for (std::size_t i = 0; i < tickets.size(); ++i)
            acks[i] = shared_->core.extend(tickets[i], until) ? Ack::applied : Ack::lost;
    }
    Rescued rescue(RescueLimits const& limits) {
        std::lock_guard lock{shared_->mutex};
        return shared_->core.rescue(limits, shared_->clock.now());
    }

    // ---- TransactionalStore ---------------------------------------------------------------------

    /// Nothing if `max_transactions` are open.
    [[nodiscard]] std::optional<Transaction> begin() {
        std::lock_guard lock{shared_->mutex};
        if (shared_->open_transactions == shared_->options.max_transactions) return std::nullopt;
        ++shared_->open_transactions;
        return Transaction{shared_};
    }
    [[nodiscard]] std::size_t max_transactions() const noexcept { return shared_->options.max_transactions; }

    // ---- EnqueuingStore, NotifyingStore ---------------------------------------------------------

    /// Puts in a range of rows (or of what converts to rows); answers how many. All or none, if the range
    /// throws.
    template <std::ranges::input_range R>
        requires std::convertible_to<std::ranges::range_reference_t<R>, Row>
    std::size_t enqueue(R&& rows, EnqueueOptions options = {}) {
        std::vector<Row> copies;
        if constexpr (std::ranges::sized_range<R>)
            copies.reserve(static_cast<std::size_t>(std::ranges::size(rows)));
        for (auto&& row : rows) copies.push_back(std::forward<decltype(row)>(row));
        add(copies, options);
        return copies.size();
    }
    /// The same for rows that are written down: `enqueue({a, b})`.
    std::size_t enqueue(std::initializer_list<Row> rows, EnqueueOptions options = {}) {
        return enqueue(std::span{rows.begin(), rows.size()}, options);
    }
    /// One row; answers its key.
    key_type put(Row row, EnqueueOptions options = {}) { return add(std::span{&row, 1}, options); }

    /// `wake` is called after an enqueue of rows due at once, and after a redrive. It must not call this
    /// store.
    [[nodiscard]] detail::WakeSubscription subscribe(std::function<void()> wake) {
        return {shared_->wakes, std::move(wake)};
    }

    // ---- InspectableStore -----------------------------------------------------------------------

    /// Rows that an open transaction holds count as pending: that is their status.
    [[nodiscard]] Counts counts(std::size_t at_most) {
        std::lock_guard lock{shared_->mutex};
        return shared_->core.counts(at_most);
    }
    [[nodiscard]] std::vector<DeadLetter<Row, key_type>> dead_letters(std::size_t at_most) {
        std::lock_guard lock{shared_->mutex};
        return shared_->core.dead_letters(at_most);
    }
    std::size_t redrive(std::span<key_type const> keys) {
        std::size_t redriven = 0;
        {
            std::lock_guard lock{shared_->mutex};
            for (auto key : keys) redriven += shared_->core.redrive(key) ? 1 : 0;
        }
        if (redriven > 0) shared_->wakes->wake_all();
        return redriven;
    }
    std::size_t redrive_all() {
        std::vector<key_type> keys;
        {
            std::lock_guard lock{shared_->mutex};
            keys = shared_->core.dead_keys();
        }
        return redrive(keys);
    }

    // ---- for tests ------------------------------------------------------------------------------

    /// The row as it stands; nothing if it was never put in, or was erased when it was finished.
    [[nodiscard]] std::optional<MemoryRow<Row>> find(key_type key) {
        std::lock_guard lock{shared_->mutex};
        return shared_->core.find(key);
    }
    /// Ends the lease of a row in hand now, as if its owner had been silent for too long.
    bool expire(key_type key) {
        std::lock_guard lock{shared_->mutex};
        return shared_->core.expire(key, shared_->clock.now());
    }
    /// Makes a pending row due now, as if its delay were over.
    bool make_due(key_type key) {
        std::lock_guard lock{shared_->mutex};
        return shared_->core.make_due(key, shared_->clock.now());
    }

private:
    using Core = detail::MemoryCore<Row>;

    /// What transactions and subscriptions share with the store, and may outlive it with.
    struct Shared {
        Shared(C c, MemoryOptions o) : clock{std::move(c)}, options{o}, core{o.keep_finished} {}

        ClaimResult<cursor_type> claim(request_type const& request, batch_type& out,
                                       typename Core::Hold hold) {
            auto const now = clock.now();
            ClaimResult<cursor_type> result{request.after};
            if (!result.cursor.start) result.cursor.start = now;
            auto const taken = core.take(result.cursor.position, *result.cursor.start, request.limit, out,
                                         hold, later(now, request.lease));
            result.supply = taken < request.limit ? Supply::dry : Supply::more;
            return result;
        }

        std::mutex mutex;
        C clock;
        MemoryOptions const options;
        Core core;
        std::size_t open_transactions = 0;
        std::shared_ptr<detail::WakeList> const wakes = std::make_shared<detail::WakeList>();
    };

    key_type add(std::span<Row> rows, EnqueueOptions const& options) {
        key_type first = 0;
        {
            std::lock_guard lock{shared_->mutex};
            auto const due = later(shared_->clock.now(), std::max(options.delay, Duration::zero()));
            first = shared_->core.add(rows, options.priority, due);
        }
        if (options.delay <= Duration::zero() && !rows.empty()) shared_->wakes->wake_all();
        return first;
    }

    std::shared_ptr<Shared> shared_;
};

/// Claims lock rows and leave their status alone; settles take effect together at commit(). Rolled back when
/// it is destroyed before that. A fence counts the claim even then: it only ever grows. Thread safety: none
/// for one transaction; several at once are safe.
template <class Row, Clock C>
class MemoryStore<Row, C>::Transaction {
public:
    using row_type = Row;
    using key_type = MemoryStore::key_type;
    using cursor_type = MemoryStore::cursor_type;

    Transaction(Transaction&&) noexcept = default;
    Transaction& operator=(Transaction&& o) noexcept {
        if (this != &o) {
            end();
            shared_ = std::move(o.shared_), locked_ = std::move(o.locked_), settled_ = std::move(o.settled_);
            mark_ = o.mark_;
        }
        return *this;
    }
    ~Transaction() { end(); }

    ClaimResult<cursor_type> claim(request_type const& request, batch_type& out) {
        std::lock_guard lock{shared_->mutex};
        auto const rows = out.tickets().size(), broken = out.broken().size();
        auto const result = shared_->claim(request, out, Core::Hold::lock);
        for (auto i = rows; i < out.tickets().size(); ++i) remember(out.tickets()[i]);
        for (auto i = broken; i < out.broken().size(); ++i) remember(out.broken()[i].ticket);
        return result;
    }
    /// Applied means: will be, by commit(). Lost: not locked by this transaction, or settled in it already.
    void settle(std::span<settlement_type const> settlements, std::span<Ack> acks) {
        for (std::size_t i = 0; i < settlements.size(); ++i) {
            auto const& s = settlements[i];
            auto const ours = locked_.find(s.ticket.key);
            auto const held =
                ours != locked_.end() && ours->second.fence == s.ticket.fence && !ours->second.settled;
            acks[i] = held ? Ack::applied : Ack::lost;
            if (!held) continue;
            settled_.push_back({s.ticket.key, s.outcome, s.row ? std::optional<Row>{*s.row} : std::nullopt});
            ours->second.settled = true;
        }
    }
    void commit() {
        std::lock_guard lock{shared_->mutex};
        auto const now = shared_->clock.now();
        for (auto const& s : settled_) {
            shared_->core.settle_locked(s.key, s.outcome, s.row ? &*s.row : nullptr, now);
            locked_.erase(s.key);
        }
        release_locks();
    }
    void mark() { mark_ = settled_.size(); }
    /// Forgets what was settled since mark(), or since the beginning; the locks stay.
    void back() {
        for (; settled_.size() > mark_; settled_.pop_back()) locked_.at(settled_.back().key).settled = false;
    }

private:
    friend MemoryStore;
    struct Lock {
        std::int64_t fence;
        bool settled = false;
    };
    struct Settled {
        key_type key;
        Outcome outcome;
        std::optional<Row> row;
    };

    explicit Transaction(std::shared_ptr<Shared> shared) : shared_{std::move(shared)} {}
    void remember(ticket_type const& t) { locked_.insert_or_assign(t.key, Lock{t.fence}); }
    void release_locks() {
        for (auto const& [key, lock] : locked_) shared_->core.unlock(key);
        locked_.clear(), settled_.clear();
        mark_ = 0;
    }
    void end() noexcept {
        auto const shared = std::exchange(shared_, nullptr);
        if (!shared) return;
        std::lock_guard lock{shared->mutex};
        for (auto const& [key, held] : locked_) shared->core.unlock(key);
        --shared->open_transactions;
    }

    std::shared_ptr<Shared> shared_;  // null: moved from
    std::unordered_map<key_type, Lock> locked_;
    std::vector<Settled> settled_;
    std::size_t mark_ = 0;
};

}  // namespace fila::inline v1
