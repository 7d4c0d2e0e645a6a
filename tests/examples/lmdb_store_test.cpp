// SPDX-License-Identifier: MIT
// The example store over LMDB keeps the promises of a leasing, transactional, durable store that processes share.
#include "examples/package_root.hpp"
#include <fila/testing/store_conformance.hpp>

#include <examples/07_lmdb_store/lmdb_store.hpp>

namespace {

class LmdbHarness {
public:
    using store_type = LmdbStore;
    static constexpr std::string_view name = "LMDB";
    static constexpr fila::testing::StoreTraits traits{.peers = true, .durable = true};

    LmdbHarness() { reopen(); }

    store_type& store() { return *store_; }
    store_type& peer() { return *peer_; }
    void reopen() {
        store_.reset(), peer_.reset(), env_.reset();
        env_ = lmdb::open(directory_.path(), {.durable = false});
        store_.emplace(env_), peer_.emplace(env_);
    }
    lmdb::Id put(std::int64_t n, fila::EnqueueOptions const& options) {
        std::string const row = std::to_string(n);
        store_->enqueue({&row, 1}, options);
        lmdb::Txn const txn{*env_, MDB_RDONLY};
        return lmdb::load<lmdb::Id>(txn.get(env_->rows, lmdb::bytes(lmdb::Id{0})).value());
    }
    static std::int64_t number(std::string const& row) { return std::stoll(row); }
    fila::RowState state(lmdb::Id key) {
        auto const row = lmdb::Txn{*env_, MDB_RDONLY}.row(key);
        if (!row) return fila::RowState::absent;
        if (row->state == lmdb::State::dead) return fila::RowState::dead;
        return row->state == lmdb::State::pending ? fila::RowState::pending : fila::RowState::processing;
    }
    void expire(lmdb::Id key) {
        change(key, [](lmdb::Row& row) { row.until = lmdb::now(); });
    }
    void make_due(lmdb::Id key) {
        change(key, [](lmdb::Row& row) { row.due = lmdb::now(); });
    }
    void clear_lease(lmdb::Id key) {
        change(key, [](lmdb::Row& row) { row.until = 0; });
    }

private:
    void change(lmdb::Id key, auto const& by) {
        lmdb::Txn txn{*env_};
        auto row = txn.row(key).value();
        by(row);
        txn.replace(key, row);
        txn.commit();
    }

    fila_test::TemporaryDirectory directory_;
    std::shared_ptr<lmdb::Environment const> env_;
    std::optional<store_type> store_, peer_;
};

}  // namespace

FILA_STORE_CONFORMANCE(LmdbHarness)
