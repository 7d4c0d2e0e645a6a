// SPDX-License-Identifier: MIT
// SqlStore: any table with a status column as a store. The verbs, once; a Driver says how to connect and
// bind.
//
// When to use: through SqliteStore or PostgresStore. What the mapping carries decides which concepts it
// models:
//
// | mapped | models | engine |
// |---|---|---|
// | key, status | TransactionalStore, EnqueuingStore, InspectableStore | InTransaction |
// | + lease_until, fence or owner | Store, LeasingStore | Leased with heartbeat |
// | + updated_at only | Store, LeasingStore | Leased without heartbeat: rows are rescued by age, so the lease must be longer than any handler; `extend` only tells whose a row is |
//
//   SqliteStore store{fila::sqlite::Config{"shop.db"}, payments};   // throws ConfigError: every fault, with DDL
//   store.enqueue(rows);
//   for (auto const& finding : store.verify()) log(finding.what, finding.mend);
//
// Thread safety: all members, from any thread. Movable. Times are durations, judged by the database's clock.
// A verb throws fila::Error only; the constructor ConfigError too.
#pragma once

#include <fila/table/doctor.hpp>
#include <fila/table/schema.hpp>
#include <fila/table/sql_subscription.hpp>
#include <fila/table/sql_transaction.hpp>
#include <fila/table/verify_beside.hpp>

#include <ranges>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// Any range that rows can be read from, single-pass ones and those with move-only iterators too.
template <class R, class Row>
concept RangeOf =
    std::ranges::input_range<R> && std::convertible_to<std::ranges::range_reference_t<R>, Row const&>;

/// What the constructor of a SQL store does with the table.
enum class OnStart : std::uint8_t {
    verify,   ///< compares it with the mapping; throws ConfigError with every fatal finding
    migrate,  ///< creates what is missing first
    nothing,  ///< trusts you
};

template <class T, class D>
class SqlStore {
    static_assert(detail::check_table<T>());
    static_assert(detail::check_driver<D>());
    using can = detail::Abilities<T>;
    using Core = detail::SqlCore<T, D>;
    using Codec = typename Core::Codec;
    using Lane = detail::ConnectionLane;

public:
    using row_type = typename Codec::row_type;
    using key_type = typename Codec::key_type;
    using cursor_type = typename Codec::cursor_type;
    using transaction_type = SqlTransaction<T, D>;
    /// How to connect.
    using config_type = typename D::Config;
    /// The mapping.
    using table_type = T;

    /// What the mapping's columns can carry.
    template <class A>
    static constexpr bool offers = std::same_as<A, ability::lease>       ? can::lease
                                   : std::same_as<A, ability::heartbeat> ? can::heartbeat
                                   : std::same_as<A, ability::delay>     ? can::delay
                                   : std::same_as<A, ability::failures>  ? can::failures
                                   : std::same_as<A, ability::crashes>   ? can::crashes
                                                                         : true;

    /// Throws ConfigError for what is wrong with either, Error if the database cannot be had.
    SqlStore(config_type const& config, T const& table, OnStart on_start = OnStart::verify)
        : core_{std::make_shared<Core>(to_open(config, on_start), table)} {
        if (on_start == OnStart::migrate) migrate();
        if (on_start != OnStart::nothing) throw_fatal(verify());
    }

    // ---- Store ----------------------------------------------------------------------------------

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, Batch<row_type, key_type>& out)
        requires(can::lease)
    {
        if (request.limit == 0) return {request.after, Supply::more};
        auto const lease = detail::to_micros(request.lease);
        core_->lease.store(lease, std::memory_order_relaxed);
        auto const connection = core_->pool.acquire(Lane::shared);
        auto const era = core_->pool.opened();  // before the claim: others may reconnect while it runs
        auto result = core_->codec.template fetch<D::sorts>(
            *connection, request.after.begun ? core_->sql.claim_after : core_->sql.claim,
            {{"lease", lease}, {"owner", core_->owner}}, request, out);
        result.era = era;
        return result;
    }
    /// All of it or nothing. What the database refuses for its content (a value out of range, a status word
    /// that its type does not know) is an Error that is not retryable: the processor finds the row, and
    /// settles it as a failure.
    void settle(std::span<Settlement<row_type, key_type> const> settlements, std::span<Ack> acks)
        requires(can::lease)
    {
        if (settlements.empty()) return;
        auto connection = core_->pool.acquire(Lane::settle);
        try {
            core_->settle(*connection, settlements, acks, core_->sql.settle, core_->sql.erase,
                          {{"owner", core_->owner}});
        } catch (...) {
            if (!connection->rollback()) connection.discard();
            throw;
        }
    }

    // ---- LeasingStore ---------------------------------------------------------------------------

    /// Without a lease column: nothing is written; `applied` says that the row is still ours.
    void extend(std::span<Ticket<key_type> const> tickets, Duration lease, std::span<Ack> acks)
        requires(can::lease)
    {
        if (tickets.empty()) return;
        std::fill(acks.begin(), acks.end(), Ack::lost);
        auto const connection = core_->pool.acquire(Lane::keeper);
        // A statement that meets many leases takes the square of their number.
        constexpr std::size_t most = T::is_split ? 500 : SIZE_MAX;
        for (std::size_t from = 0; from < tickets.size(); from += std::min(most, tickets.size() - from)) {
            auto rows = core_->codec.key_rows();
            for (auto const& ticket : tickets.subspan(from, std::min(most, tickets.size() - from)))
                Codec::add_key(rows, ticket);
            connection->run_rows(
                core_->sql.extend, {{"lease", detail::to_micros(lease)}, {"owner", core_->owner}}, rows,
                [&](auto const& record) { acks[from + Core::place(record)] = Ack::applied; });
        }
    }
    /// By age, where only `updated_at` is mapped: older than the latest claim's lease (five minutes before
    /// the first).
    Rescued rescue(RescueLimits const& limits)
        requires(can::lease)
    {
        Rescued rescued;
        if (limits.max_rows == 0) return rescued;
        Bindings
            bindings;  // one by one: of a list of them g++ 12 says at -O3 that it copies what is not there
        bindings.emplace_back("n", detail::to_limit(limits.max_rows));
        bindings.emplace_back("max_crashes", std::int64_t{limits.max_crashes});
        bindings.emplace_back("lease", core_->lease.load(std::memory_order_relaxed));
        auto const connection = core_->pool.acquire(Lane::keeper);
        auto count = [&](auto const& record) {
            ++(record[0].template get<bool>() ? rescued.dead : rescued.requeued);
        };
        if (!core_->sql.rescue_erase.empty()) connection->run(core_->sql.rescue_erase, bindings, count);
        if (rescued.rows() >= limits.max_rows) return rescued;
        bindings.front().second = detail::to_limit(limits.max_rows - rescued.rows());
        connection->run(core_->sql.rescue, bindings, count);
        return rescued;
    }

    // ---- TransactionalStore ---------------------------------------------------------------------

    /// Nothing, if all connections are in use. The transaction keeps its own; it may outlive the store.
    [[nodiscard]] std::optional<transaction_type> begin() {
        auto connection = core_->pool.try_acquire(Lane::shared);
        if (!connection) return std::nullopt;
        return transaction_type{core_, std::move(*connection)};
    }
    [[nodiscard]] std::size_t max_transactions() const noexcept { return core_->pool.shared_connections(); }

    // ---- EnqueuingStore -------------------------------------------------------------------------

    /// Inserts rows from any range, single-pass ones too, a thousand a statement; each thousand is a
    /// transaction. Gives their number. A priority is written as it is; a delay needs `.due_at` and throws an
    /// Error without it.
    template <class R>
        requires(RangeOf<R, typename T::row_type>)
    std::size_t enqueue(R&& rows, EnqueueOptions options = {}) {
        check_delay(options);
        auto const n = insert(rows, options, [&](Rows const& chunk, std::size_t& count) {
            auto const connection = acquire_for_user();
            connection->run_rows(core_->sql.enqueue, {}, chunk, [&](auto const&) { ++count; });
        });
        if (n > 0) announce();
        return n;
    }
    /// The same for rows that are written down: `enqueue({a, b})`.
    std::size_t enqueue(std::initializer_list<row_type> rows, EnqueueOptions options = {}) {
        return enqueue(std::span{rows.begin(), rows.size()}, options);
    }
    /// The same inside a transaction of yours (`pqxx::transaction_base&`, `sqlite3*`): rows exist if you
    /// commit.
    template <class Handle, class R>
        requires(RangeOf<R, typename T::row_type> && Borrows<D, std::remove_reference_t<Handle>>)
    std::size_t enqueue(Handle&& user_transaction, R&& rows, EnqueueOptions options = {}) {
        check_delay(options);
        auto borrowed = D::borrow(user_transaction);
        auto const n = insert(rows, options, [&](Rows const& chunk, std::size_t& count) {
            borrowed.run_rows(core_->sql.enqueue, {}, chunk, [&](auto const&) { ++count; });
        });
        if constexpr (AnnouncingDriver<D>)
            if (n > 0 && D::announces_inside(core_->pool.config())) D::announce(borrowed, core_->channel());
        return n;
    }

    // ---- NotifyingStore -------------------------------------------------------------------------

    /// Wakes when this object enqueues, and when others do, if the driver hears of them; else their rows are
    /// found by polling.
    [[nodiscard]] auto subscribe(std::function<void()> wake) {
        return detail::SqlSubscription<T, D>{core_, std::move(wake)};
    }

    // ---- InspectableStore -----------------------------------------------------------------------

    [[nodiscard]] Counts counts(std::size_t at_most) {
        Counts counts;
        acquire_for_user()->run(
            core_->sql.counts, {{"n", detail::to_limit(at_most)}}, [&](auto const& record) {
                auto const n = [&](std::size_t i) {
                    return static_cast<std::size_t>(record[i].template get<std::int64_t>());
                };
                counts = {n(0), n(1), n(2)};
            });
        return counts;
    }
    [[nodiscard]] std::vector<DeadLetter<row_type, key_type>> dead_letters(std::size_t at_most) {
        std::vector<DeadLetter<row_type, key_type>> letters;
        if (at_most == 0 || core_->sql.dead_letters.empty()) return letters;
        auto const behind = core_->codec.columns();
        acquire_for_user()->run(
            core_->sql.dead_letters, {{"n", detail::to_limit(at_most)}}, [&](auto const& record) {
                auto read = core_->codec.read(record);
                if (!read.key) return;
                std::string error;
                if constexpr (can::last_error)
                    if (auto const field = record[behind]; !field.null())
                        error = field.template get<std::string>();
                std::optional<row_type> row;
                if (read.why.empty())
                    row = std::move(read.row);
                else if (error.empty())
                    error = std::move(read.why);
                letters.push_back({std::move(*read.key), std::move(row), read.history, std::move(error)});
            });
        return letters;
    }
    std::size_t redrive(std::span<key_type const> keys) {
        if (keys.empty() || core_->sql.redrive.empty()) return 0;
        Rows rows{{"k"}, std::vector<std::vector<Value>>(1)};
        for (auto const& key : keys) rows.columns[0].push_back(Codec::key_value(key));
        std::size_t n = 0;
        acquire_for_user()->run_rows(core_->sql.redrive, {}, rows, [&](auto const&) { ++n; });
        if (n > 0) announce();
        return n;
    }
    std::size_t redrive_all() {
        if (core_->sql.redrive_all.empty()) return 0;
        std::int64_t n = 0;
        acquire_for_user()->run(core_->sql.redrive_all, {},
                                [&](auto const& record) { n += record[0].template get<std::int64_t>(); });
        if (n > 0) announce();
        return static_cast<std::size_t>(n);
    }

    // ---- for people -----------------------------------------------------------------------------

    /// Every mismatch between mapping and table, fatal or not, each with what mends it.
    [[nodiscard]] std::vector<Finding> verify() {
        auto const connection = acquire_for_user();
        auto findings = detail::compare_all(core_->codec.table(), *connection, core_->dialect);
        auto const broken =
            std::any_of(findings.begin(), findings.end(), [](auto const& f) { return f.fatal; });
        if (!broken) detail::unserved(*connection, core_->sql, findings);
        return findings;
    }
    /// What makes a queue that works slow, or leaves rows behind, each with what to do; see doctor.hpp. Takes
    /// milliseconds, and a role of few rights: what it may not see is a finding. Throws if the connection is
    /// lost.
    [[nodiscard]] std::vector<Finding> doctor(DoctorLimits const& limits = {}) {
        auto const connection = acquire_for_user();
        return detail::Doctor<T, D>{*core_, *connection, limits}.findings();
    }
    /// The rendered SQL: print it, review it, explain it.
    [[nodiscard]] Statements const& statements() const noexcept { return core_->sql; }
    /// The DDL of a table for this mapping.
    [[nodiscard]] std::string schema_sql() const {
        return fila::schema_sql(core_->codec.table(), core_->dialect);
    }
    /// Creates what is missing of it; may be repeated, and run by several processes at once.
    void migrate() { acquire_for_user()->script(schema_sql()); }

protected:
    /// Whoever waits for rows, in this process and beyond. They are there: that nobody could be told is no error.
    void announce() noexcept {
        try {
            core_->wakes.wake_all();
            if constexpr (AnnouncingDriver<D>)
                if (D::announces(core_->pool.config())) D::announce(*acquire_for_user(), core_->channel());
        } catch (...) {
            // Polling finds them.
        }
    }
    /// For stores that are built on this one.
    [[nodiscard]] Core& core() const noexcept { return *core_; }

private:
    using Checkout = typename detail::ConnectionPool<D>::Checkout;

    /// A database that is not there has no table to verify: it is made by whoever migrates.
    [[nodiscard]] static config_type to_open(config_type config, OnStart on_start) {
        if constexpr (requires { D::reopening(config); })
            if (on_start == OnStart::verify) D::reopening(config);
        return config;
    }

    /// Open transactions may hold every shared connection for long; a settle is short.
    [[nodiscard]] Checkout acquire_for_user() const {
        if (auto connection = core_->pool.try_acquire(Lane::shared)) return std::move(*connection);
        return core_->pool.acquire(Lane::settle);
    }
    static void check_delay(EnqueueOptions const& options) {
        if (!can::delay && options.delay > Duration::zero())
            throw Error{"fila: enqueue with a delay needs a due time: add .due_at(\"column\") to the table"};
    }
    template <class R, class Send>
    std::size_t insert(R&& rows, EnqueueOptions const& options, Send send) const {
        constexpr std::size_t chunk = 1000;
        std::size_t count = 0;
        auto pending = core_->codec.insert_rows();
        auto const last = std::ranges::end(rows);
        for (auto it = std::ranges::begin(rows); it != last; ++it) {
            core_->codec.add_insert(pending, *it, options);
            if (pending.size() < chunk) continue;
            send(pending, count);  // before the next element is pulled: it may take long to come
            for (auto& column : pending.columns) column.clear();
        }
        if (!pending.empty()) send(pending, count);
        return count;
    }
    static void throw_fatal(std::vector<Finding> const& findings) {
        std::string faults;
        for (auto const& finding : findings) {
            if (!finding.fatal) continue;
            faults += "\n  " + finding.what;
            if (!finding.mend.empty()) faults += "\n    mend: " + finding.mend;
        }
        if (!faults.empty()) throw ConfigError{"fila: the mapping does not fit the table:" + faults};
    }

    std::shared_ptr<Core> core_;
};

}  // namespace fila::inline v1
