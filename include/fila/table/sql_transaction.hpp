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
        }
        return *this;
    }
    ~SqlTransaction() { roll_back(); }

    /// Locks rows behind the cursor; rows that others hold are passed over. The lease of the request is
    /// unused.
    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, Batch<row_type, key_type>& out) {
        if (request.limit == 0) return {request.after, Supply::more};
        auto const& sql = core_->sql;
        return core_->codec.template fetch<true>(
            *connection_, request.after.begun ? sql.take_after : sql.take, {{"guard", guard_}}, request, out);
    }
    /// Answers `lost` for every row if the handler ended the transaction that held their locks: others may
    /// have them by now.
    void settle(std::span<Settlement<row_type, key_type> const> settlements, std::span<Ack> acks) {
        if (!connection_->in_transaction()) {
            std::fill(acks.begin(), acks.end(), Ack::lost);
            return;
        }
        core_->settle(*connection_, settlements, acks, core_->sql.settle_taken, core_->sql.erase_taken,
                      {{"guard", guard_}});
    }
    /// Throws an Error if the transaction was ended by the handler; with `maybe_applied` if the answer was
    /// lost.
    void commit() {
        connection_->commit();
        auto const done = std::move(connection_);
    }
    /// Remembers a point behind the claim; `back` undoes what came after it, and the rows stay locked.
    void mark() { connection_->savepoint(); }
    void back() { connection_->rollback_to_savepoint(); }

    /// The database's own transaction, for the handler's writes. Do not commit or roll it back.
    [[nodiscard]] decltype(auto) handle() { return connection_->handle(); }

private:
    void roll_back() noexcept {
        if (connection_ && !connection_->rollback()) connection_.discard();
    }

    std::shared_ptr<Core> core_;
    Checkout connection_;
    std::string guard_;
};

}  // namespace fila::inline v1
