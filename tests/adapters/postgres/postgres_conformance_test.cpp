// SPDX-License-Identifier: MIT
// Every promise of the Store concepts, on the job table, on a user's own table, and behind PgBouncer.
#include "support/pooler.hpp"
#include "support/postgres_server.hpp"
#include <fila/postgres/postgres_store.hpp>
#include <fila/table/job_table.hpp>
#include <fila/testing/store_conformance.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

using fila::RowState;
using fila_test::Sandbox;
namespace pg = fila::postgres;

constexpr fila::testing::StoreTraits traits{.peers = true, .durable = true};

/// A store on a table of its sandbox, and what all harnesses share. `Derived` says how the table looks.
template <class Derived, class Table>
class Harness {
public:
    using store_type = pg::PostgresStore<Table>;
    using key_type = fila::key_t<store_type>;

    store_type& store() { return *store_; }
    store_type& peer() {
        if (!peer_) peer_.emplace(config(), self().table());
        return *peer_;
    }
    void reopen() {
        box.kill_sessions();
        store_.reset();
        open();
    }
    RowState state(key_type const& key) {
        auto const found = box.run("SELECT " + self().status() + " FROM " + self().relation() +
                                   " WHERE id = " + quoted(key));
        if (found.empty()) return RowState::absent;
        auto const word = found[0][0].template as<std::string>();
        for (auto s : {RowState::pending, RowState::processing, RowState::completed, RowState::dead,
                       RowState::discarded})
            if (word == to_string(s)) return s;
        return RowState::absent;
    }
    void make_due(key_type const& key) { change("due_at = clock_timestamp()", key); }

    Sandbox box;

protected:
    explicit Harness(pg::Session session) : session_{session} {
        if (session == pg::Session::pooled) pooler_.emplace(6);
    }
    /// The first one creates the table.
    void open() { store_.emplace(config(), self().table(), fila::OnStart::migrate); }
    void change(std::string const& what, key_type const& key) {
        box.run("UPDATE " + self().relation() + " SET " + what + " WHERE id = " + quoted(key));
    }
    static std::string quoted(key_type const& key) {
        if constexpr (std::same_as<key_type, std::string>)
            return "'" + key + "'";
        else
            return std::to_string(key);
    }

private:
    Derived& self() { return static_cast<Derived&>(*this); }
    pg::Config config() {
        auto const way = pooler_ ? " " + pooler_->address() : std::string{};
        return {.conninfo = box.store_conninfo() + way, .session = session_, .connections = 4};
    }
    pg::Session session_;
    std::optional<fila_test::Pooler> pooler_;
    std::optional<store_type> store_, peer_;
};

using JobTable = decltype(fila::job_table<std::string>(fila::TableName{std::string_view{}}));

template <pg::Session session>
class JobHarness : public Harness<JobHarness<session>, JobTable> {
    using Base = Harness<JobHarness<session>, JobTable>;

public:
    static constexpr std::string_view name =
        session == pg::Session::own ? "postgres: job table" : "postgres: job table behind PgBouncer";
    static constexpr fila::testing::StoreTraits traits = ::traits;

    JobHarness() : Base{session} { this->open(); }

    JobTable table() { return fila::job_table<std::string>(fila::TableName{this->box.name("jobs")}); }
    static std::string relation() { return "{s}.jobs"; }
    /// What is pending and does not wait is in somebody's hand.
    static std::string status() {
        return "CASE WHEN status = 'pending' AND NOT EXISTS (SELECT FROM {s}.jobs_ready r WHERE r.id = "
               "jobs.id) "
               "THEN 'processing' ELSE status END";
    }
    /// Of this row alone: each in its lease has a time of its own then.
    void expire(std::int64_t key) {
        this->box.run("UPDATE {s}.jobs_leases SET lease_until = past, untils = ARRAY(SELECT CASE WHEN k = " +
                      this->quoted(key) +
                      " THEN past ELSE COALESCE(untils[p], lease_until) END FROM unnest(keys) WITH "
                      "ORDINALITY AS u(k, p) "
                      "ORDER BY p) FROM (SELECT clock_timestamp() - interval '1 hour' AS past) AS q WHERE " +
                      this->quoted(key) + " = ANY(keys)");
    }
    std::int64_t put(std::int64_t n, fila::EnqueueOptions const& options) {
        this->store().enqueue({{0, std::to_string(n)}}, options);
        return this->box.template get<std::int64_t>("SELECT max(id) FROM {s}.jobs");
    }
    static std::int64_t number(fila::Job<std::string> const& row) { return std::stoll(row.payload); }
};

/// A table of a user's: text keys in a linguistic order, a member narrower than its column, rows kept when done.
struct Note {
    std::string id;
    std::int64_t n = 0;
    std::int16_t pages = 1;
};
auto notes(std::string_view name) {
    return fila::table<Note>(fila::TableName{name})
        .key("id", &Note::id)
        .column("n", &Note::n)
        .column("pages", &Note::pages)
        .status("status")
        .lease_until("lease_until")
        .fence("fence")
        .owner("owner")
        .failures("failures")
        .crashes("crashes")
        .due_at("due_at")
        .priority("priority")
        .last_error("last_error");
}

class NoteHarness : public Harness<NoteHarness, decltype(notes({}))> {
public:
    static constexpr std::string_view name = "postgres: a table with text keys";
    static constexpr fila::testing::StoreTraits traits = ::traits;

    NoteHarness() : Harness{pg::Session::own} {
        box.run(R"(
            CREATE TABLE {s}.notes(
                id text COLLATE "en-x-icu" PRIMARY KEY, n bigint NOT NULL, pages bigint NOT NULL, status varchar(20) NOT NULL DEFAULT 'pending',
                lease_until timestamptz, fence bigint, owner text, failures smallint, crashes smallint,
                due_at timestamptz NOT NULL, priority int NOT NULL, last_error text))");
        open();
    }
    auto table() { return notes(box.name("notes")); }
    static std::string relation() { return "{s}.notes"; }
    static std::string status() { return "status"; }
    void expire(std::string const& key) {
        change("lease_until = clock_timestamp() - interval '1 hour'", key);
    }
    void clear_lease(std::string const& key) { change("lease_until = NULL, owner = NULL", key); }
    std::string put(std::int64_t n, fila::EnqueueOptions const& options) {
        auto const place = std::to_string(++rows_);
        auto const key = "note-" + std::string(6 - place.size(), '0') + place;
        store().enqueue({{key, n}}, options);
        return key;
    }
    std::string put_broken() {
        auto const key = put(0, {});
        box.run("UPDATE {s}.notes SET pages = 70000 WHERE id = '" + key + "'");
        return key;
    }
    static std::int64_t number(Note const& row) { return row.n; }

private:
    int rows_ = 0;
};

}  // namespace

FILA_STORE_CONFORMANCE(JobHarness<pg::Session::own>)
FILA_STORE_CONFORMANCE(JobHarness<pg::Session::pooled>)
FILA_STORE_CONFORMANCE(NoteHarness)
