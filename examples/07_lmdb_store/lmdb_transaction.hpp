// SPDX-License-Identifier: MIT
// LmdbTransaction: claimed rows and the handler's own changes, written together or not at all.
//
// LMDB has one writer among all threads of all processes, and a write transaction belongs to the thread that began
// it, while fila may claim, handle and settle on different ones. So none of LMDB's write transactions outlives a call.
// What is held for as long as a handler takes is a kernel lock on the row's number, which dies with the process, and
// a list of changes; `commit` makes them good together, if what was read is still as it was read. Handlers run side
// by side, and a long one stands in no writer's way.
#pragma once

#include "lmdb_rows.hpp"
#include <fila/store/store_concept.hpp>

#include <map>

namespace lmdb {

/// When the pass began, and where it is: what comes back behind it or falls due later belongs to the next pass.
struct Cursor {
    std::int64_t start = 0;
    Place from{};
};

/// Appends to `take` what is pending and due, in order, until it has taken as many as are asked for.
template <class Take>
fila::ClaimResult<Cursor> scan(Txn const& txn, fila::ClaimRequest<Cursor> const& request, Take const& take) {
    auto at = request.after;
    if (at.start == 0) at.start = now();
    for (std::size_t taken = 0; taken < request.limit;) {
        auto const found = txn.first(at.from);
        if (!found || found->state != State::pending) return {at, fila::Supply::dry};
        at.from = *found;
        if (found->time <= at.start) {
            taken += take(found->id) ? 1 : 0;
            ++at.from.id;
        } else if (found->priority < std::numeric_limits<std::int64_t>::max()) {
            at.from = {State::pending, found->priority + 1};  // none behind it is due at this priority
        } else {
            return {at, fila::Supply::dry};
        }
    }
    return {at, fila::Supply::more};
}

inline void finish(Txn& txn, Id id, Row row, fila::Outcome const& outcome) {
    if (outcome.final() && !outcome.failure()) return txn.replace(id, std::nullopt);
    if (outcome.failure()) ++row.history.failures;
    row.state = outcome.final() ? State::dead : State::pending;
    row.error = outcome.text();
    if (outcome.kind() != fila::Outcome::Kind::release)
        row.due = from_now(std::max(outcome.delay(), fila::Duration{1}));
    txn.replace(id, std::move(row));
}

}  // namespace lmdb

/// Rows in hand and the handler's changes, all or nothing. One thread at a time, any thread.
class LmdbTransaction {
public:
    using row_type = std::string;
    using key_type = lmdb::Id;
    using cursor_type = lmdb::Cursor;

    explicit LmdbTransaction(std::shared_ptr<lmdb::Environment const> env)
        : env_{std::move(env)}, locks_{env_->lock_file()} {}

    fila::ClaimResult<cursor_type> claim(fila::ClaimRequest<cursor_type> const& request,
                                         fila::Batch<row_type, key_type>& out) {
        lmdb::Txn const before{*env_, MDB_RDONLY};
        return lmdb::scan(before, request, [&](key_type id) {
            if (work_.rows.contains(id) || !locks_.take(id)) return false;
            auto row = lmdb::Txn{*env_, MDB_RDONLY}.row(id);  // as it is now that nobody else can have it
            auto const was = before.row(id);
            if (!row || row->place(id) != was->place(id)) return locks_.release(id), false;
            out.add(id, ++row->fence, row->history, row->payload);
            work_.rows.emplace(id, InHand{std::move(*row), std::nullopt});
            return true;
        });
    }
    void settle(std::span<fila::Settlement<row_type, key_type> const> settlements,
                std::span<fila::Ack> acks) {
        for (std::size_t i = 0; auto const& [ticket, outcome, row] : settlements) {
            auto const held = work_.rows.find(ticket.key);
            bool const ours =
                held != work_.rows.end() && !held->second.outcome && held->second.row.fence == ticket.fence;
            if (ours) held->second.outcome = outcome;
            acks[i++] = ours ? fila::Ack::applied : fila::Ack::lost;
        }
    }
    void commit() {
        if (work_.rows.empty()) return;
        lmdb::Txn txn{*env_};
        for (auto const& [key, seen] : work_.read)
            if (txn.get(env_->data, key) != seen) conflict("what was read has been changed");
        for (auto const& [id, held] : work_.rows) {
            if (!held.outcome) continue;
            auto const row = txn.row(id);
            if (!row || row->fence + 1 != held.row.fence) conflict("the row has been changed");
            lmdb::finish(txn, id, held.row, *held.outcome);
        }
        for (auto const& [key, value] : work_.written)
            value ? txn.put(env_->data, key, *value) : txn.erase(env_->data, key);
        txn.commit();
        work_ = {}, locks_.release_all();
    }
    void mark() { marked_ = work_; }
    void back() { work_ = marked_; }

    // The handler's own, through context.transaction(): the table `data`.
    std::optional<std::string> get(std::string const& key) {
        if (auto const own = work_.written.find(key); own != work_.written.end()) return own->second;
        lmdb::Txn const txn{*env_, MDB_RDONLY};
        auto const found = txn.get(env_->data, key);
        auto const value = found ? std::optional{std::string{*found}} : std::nullopt;
        if (!work_.read.emplace(key, value).second && work_.read.at(key) != value)
            conflict("what was read has been changed");
        return value;
    }
    void put(std::string const& key, std::string value) { change(key, std::move(value)); }
    void erase(std::string const& key) { change(key, std::nullopt); }

private:
    using Values = std::map<std::string, std::optional<std::string>>;
    struct InHand {
        lmdb::Row row;
        std::optional<fila::Outcome> outcome;
    };
    struct Work {
        std::map<key_type, InHand> rows;
        Values read, written;
    };
    [[noreturn]] static void conflict(char const* why) {
        throw fila::Error{std::string{"lmdb: "} + why + " by somebody else: nothing is written",
                          {.retryable = true}};
    }
    void change(std::string const& key, std::optional<std::string> value) {
        if (key.empty() || key.size() > static_cast<std::size_t>(mdb_env_get_maxkeysize(env_->get())))
            throw fila::Error{"lmdb: a key has 1 to 511 bytes"};  // now: a commit can only fail as a whole
        work_.written.insert_or_assign(key, std::move(value));
    }

    std::shared_ptr<lmdb::Environment const> env_;
    lmdb::Locks locks_;
    Work work_, marked_;
};
