// SPDX-License-Identifier: MIT
// A store of one's own over a database: rows in LMDB (embedded, ordered keys, one writer at a time).
//
//   LmdbStore jobs{lmdb::open("jobs.lmdb")};  // a directory; the processes of one machine may share it
//   jobs.enqueue(std::vector<std::string>{"one", "two"});
//   fila::Processor p{jobs, fila::ThreadPool{4}, handler, fila::Leased{.lease = 30s}};  // or InTransaction{}
//
// A process that is stopped (SIGSTOP) inside one of LMDB's short write transactions stops all writers with it; one
// that is killed there does not. Leases are judged by the clock of the machine: do not set it back by hours.
#pragma once

#include "lmdb_transaction.hpp"

/// Copies share the one environment of the process. Any thread.
class LmdbStore {
public:
    using row_type = std::string;
    using key_type = lmdb::Id;
    using cursor_type = lmdb::Cursor;
    using transaction_type = LmdbTransaction;

    explicit LmdbStore(std::shared_ptr<lmdb::Environment const> env) : env_{std::move(env)} {}

    fila::ClaimResult<cursor_type> claim(fila::ClaimRequest<cursor_type> const& request,
                                         fila::Batch<row_type, key_type>& out) {
        lmdb::Locks locks{env_->lock_file()};
        lmdb::Txn txn{*env_};
        auto const result = lmdb::scan(txn, request, [&](key_type id) {
            if (!locks.take(id)) return false;
            auto row = txn.row(id).value();
            ++row.fence, row.state = lmdb::State::processing, row.until = lmdb::from_now(request.lease);
            out.add(id, row.fence, row.history, row.payload);
            txn.replace(id, std::move(row));
            return true;
        });
        txn.commit();
        return result;
    }
    void settle(std::span<fila::Settlement<row_type, key_type> const> settlements,
                std::span<fila::Ack> acks) {
        lmdb::Txn txn{*env_};
        for (std::size_t i = 0; auto const& [ticket, outcome, unused] : settlements) {
            auto row = in_hand(txn, ticket);
            acks[i++] = row ? fila::Ack::applied : fila::Ack::lost;
            if (row) lmdb::finish(txn, ticket.key, std::move(*row), outcome);
        }
        txn.commit();
    }
    void extend(std::span<fila::Ticket<key_type> const> tickets, fila::Duration lease,
                std::span<fila::Ack> acks) {
        lmdb::Txn txn{*env_};
        for (std::size_t i = 0; auto const& ticket : tickets) {
            auto row = in_hand(txn, ticket);
            acks[i++] = row ? fila::Ack::applied : fila::Ack::lost;
            if (!row) continue;
            row->until = lmdb::from_now(lease);
            txn.replace(ticket.key, std::move(*row));
        }
        txn.commit();
    }
    fila::Rescued rescue(fila::RescueLimits const& limits) {
        env_->forget_dead_readers();
        lmdb::Txn txn{*env_};
        fila::Rescued rescued;
        for (auto const id : txn.ids(lmdb::State::processing, limits.max_rows)) {
            auto row = txn.row(id).value();
            if (row.until > lmdb::now()) break;
            bool const dead = ++row.history.crashes >= limits.max_crashes;
            row.state = dead ? lmdb::State::dead : lmdb::State::pending;
            if (dead) row.error = "its process died, or was cut off, too often";
            txn.replace(id, std::move(row));
            ++(dead ? rescued.dead : rescued.requeued);
        }
        txn.commit();
        return rescued;
    }
    std::optional<transaction_type> begin() { return std::make_optional<transaction_type>(env_); }

    /// All of them, or none after a throw.
    std::size_t enqueue(std::span<row_type const> rows, fila::EnqueueOptions options = {}) {
        lmdb::Txn txn{*env_};
        for (auto const& payload : rows) {
            lmdb::Row row;
            row.priority = options.priority, row.due = lmdb::from_now(options.delay), row.payload = payload;
            txn.replace(txn.next_id(), std::move(row));
        }
        txn.commit();
        return rows.size();
    }

    fila::Counts counts(std::size_t at_most) const {
        lmdb::Txn const txn{*env_, MDB_RDONLY};
        return {.pending = txn.ids(lmdb::State::pending, at_most).size(),
                .processing = txn.ids(lmdb::State::processing, at_most).size(),
                .dead = txn.ids(lmdb::State::dead, at_most).size()};
    }
    std::vector<fila::DeadLetter<row_type, key_type>> dead_letters(std::size_t at_most) const {
        lmdb::Txn const txn{*env_, MDB_RDONLY};
        std::vector<fila::DeadLetter<row_type, key_type>> dead;
        for (auto const id : txn.ids(lmdb::State::dead, at_most)) {
            auto row = txn.row(id).value();
            dead.push_back({id, std::move(row.payload), row.history, std::move(row.error)});
        }
        return dead;
    }
    std::size_t redrive(std::span<key_type const> keys) {
        lmdb::Txn txn{*env_};
        std::size_t redriven = 0;
        for (auto const id : keys) {
            auto row = txn.row(id);
            if (!row || row->state != lmdb::State::dead) continue;
            row->state = lmdb::State::pending, row->due = lmdb::now(), row->history = {}, row->error = {};
            txn.replace(id, std::move(*row)), ++redriven;
        }
        txn.commit();
        return redriven;
    }
    std::size_t redrive_all() {
        auto const everything = std::numeric_limits<std::size_t>::max();
        return redrive(lmdb::Txn{*env_, MDB_RDONLY}.ids(lmdb::State::dead, everything));
    }

private:
    static std::optional<lmdb::Row> in_hand(lmdb::Txn const& txn, fila::Ticket<key_type> const& ticket) {
        auto row = txn.row(ticket.key);
        return row && row->state == lmdb::State::processing && row->fence == ticket.fence ? row
                                                                                          : std::nullopt;
    }
    std::shared_ptr<lmdb::Environment const> env_;
};
static_assert(fila::LeasingStore<LmdbStore> && fila::TransactionalStore<LmdbStore> &&
              fila::EnqueuingStore<LmdbStore> && fila::InspectableStore<LmdbStore> &&
              fila::SavepointTransaction<LmdbTransaction>);
