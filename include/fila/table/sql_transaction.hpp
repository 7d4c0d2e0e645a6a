// SPDX-License-Identifier: MIT
// SqlTransaction: rows locked, worked on and settled in one transaction, on a connection of its own.
//
// Made by SqlStore::begin(). The claim only locks; `settle` writes the status, and `commit` makes it and all
// that the handler wrote through `handle()` durable together. Destroyed without commit: rolled back, without
// a throw. Thread safety: one thread at a time; it may be moved to another, and may outlive its store.
#pragma once

#include <fila/table/sql_core.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1 {

template <class T, class D>
class SqlTransaction {
    using Core = detail::SqlCore<T, D>;
    using Codec = typename Core::Codec;
    using Checkout = typename detail::ConnectionPool<D>::Checkout;

public:
    using row_type = typename Codec::row_type;
    using key_type = typename Codec::key_type;
    using cursor_type = typename Codec::cursor_type;

    /// For SqlStore.
    SqlTransaction(std::shared_ptr<Core> core, Checkout connection)
        : core_{std::move(core)},
          connection_{std::move(connection)},
          guard_{core_->owner + '/' + std::to_string(core_->transactions.fetch_add(1))} {
        connection_->begin();
    }
    SqlTransaction(SqlTransaction&&) noexcept = default;
    SqlTransaction& operator=(SqlTransaction&& other) noexcept {
        if (this != &other) {
            roll_back();
            core_ = std::move(other.core_);
            connection_ = std::move(other.connection_);
            guard_ = std::move(other.guard_);
            held_ = std::move(other.held_);
            lost_ = std::move(other.lost_);
            only_locks_ = other.only_locks_, marked_ = other.marked_;
        }
        return *this;
    }
    ~SqlTransaction() { roll_back(); }

    /// Locks rows behind the cursor; rows that others hold are passed over. The lease of the request is
    /// unused.
    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, Batch<row_type, key_type>& out) {
        if (request.limit == 0) return {request.after, Supply::more};
        auto const& sql = core_->sql;
        auto const rows = out.tickets().size(), broken = out.broken().size();
        auto const result = core_->codec.template fetch<true>(
            *connection_, request.after.begun ? sql.take_after : sql.take, {{"guard", guard_}}, request, out);
        for (auto i = rows; i < out.tickets().size(); ++i) held_.push_back(out.tickets()[i].key);
        for (auto i = broken; i < out.broken().size(); ++i) held_.push_back(out.broken()[i].ticket.key);
        return result;
    }
    /// Answers `lost` for every row if the handler ended the transaction that held their locks: others may
    /// have them by now.
    void settle(std::span<Settlement<row_type, key_type> const> settlements, std::span<Ack> acks) {
        std::fill(acks.begin(), acks.end(), Ack::lost);
        if (!connection_->in_transaction()) return;
        if (std::exchange(only_locks_, false)) connection_->release_savepoint();
        if (lost_.empty()) return send(settlements, acks);
        for (std::size_t i = 0; i < settlements.size(); ++i)
            if (!lost(settlements[i].ticket.key)) send(settlements.subspan(i, 1), acks.subspan(i, 1));
    }
    /// Settles, and commits if all of it was applied: in one round trip, where the driver can.
    void finish(std::span<Settlement<row_type, key_type> const> settlements, std::span<Ack> acks) {
        if constexpr (FinishingConnection<typename D::Connection>) {
            if (settlements.size() == 1 && lost_.empty() && connection_->in_transaction() &&
                connection_->can_finish()) {
                only_locks_ = false;
                acks[0] = core_->finish(*connection_, settlements[0], {{"guard", guard_}});
                if (acks[0] == Ack::applied) auto const done = std::move(connection_);
                return;
            }
        }
        settle(settlements, acks);
        if (std::all_of(acks.begin(), acks.end(), [](Ack ack) { return ack == Ack::applied; })) commit();
    }
    /// Throws an Error if the transaction was ended by the handler; with `maybe_applied` if the answer was
    /// lost.
    void commit() {
        connection_->commit();
        auto const done = std::move(connection_);
    }
    /// Remembers a point behind the claim; `back` undoes what came after it, and the rows stay locked. (If a settle
    /// or the commit has failed, the database may leave no way back: then the rows are locked anew, and one that
    /// somebody else took in that moment is lost.)
    void mark() {
        only_locks_ = only_locks_ && !marked_;
        marked_ = true;
        only_locks_ ? connection_->defer_savepoint() : connection_->savepoint();
    }
    void back() {
        if (!connection_->rollback_to_savepoint()) hold_again();
    }

    /// The database's own transaction, for the handler's writes. Do not commit or roll it back.
    [[nodiscard]] decltype(auto) handle() {
        only_locks_ = only_locks_ && marked_;
        return connection_->handle();
    }

private:
    void send(std::span<Settlement<row_type, key_type> const> settlements, std::span<Ack> acks) {
        core_->settle(*connection_, settlements, acks, core_->sql.settle_taken, core_->sql.erase_taken,
                      {{"guard", guard_}});
    }
    void hold_again() {
        Rows keys{{"k"}, {{}}};
        for (auto const& key : held_) keys.columns[0].push_back(Codec::key_value(key));
        std::vector<bool> taken(held_.size());
        connection_->run_rows(core_->sql.take_again, {{"guard", guard_}}, keys,
                              [&](auto const& record) { taken[Core::place(record)] = true; });
        for (std::size_t i = 0; i < held_.size(); ++i)
            if (!taken[i]) lost_.push_back(held_[i]);
    }
    [[nodiscard]] bool lost(key_type const& key) const {
        return std::find(lost_.begin(), lost_.end(), key) != lost_.end();
    }
    void roll_back() noexcept {
        if (connection_ && !connection_->rollback()) connection_.discard();
    }

    std::shared_ptr<Core> core_;
    Checkout connection_;
    std::string guard_;
    std::vector<key_type> held_, lost_;  ///< claimed; and of those, gone to others
    bool marked_ = false;
    /// Up to the first mark nothing but claims, and nothing settled since: all of it can be had again.
    bool only_locks_ = true;
};

}  // namespace fila::inline v1
