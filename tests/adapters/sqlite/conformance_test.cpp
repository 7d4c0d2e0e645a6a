// SPDX-License-Identifier: MIT
// SqliteStore keeps every promise of a store: with the job table, with a user's own table, and by age alone.
#include "adapters/sqlite/sqlite_file.hpp"
#include <fila/sqlite/sqlite_store.hpp>
#include <fila/table/job_table.hpp>
#include <fila/testing/store_conformance.hpp>

#include <optional>
#include <string>

namespace {

using fila::RowState;

RowState state_of(std::optional<std::string> const& status) {
    if (!status || *status == "(no row)") return RowState::absent;
    if (*status == "pending" || *status == "new") return RowState::pending;
    if (*status == "processing" || *status == "at work") return RowState::processing;
    if (*status == "completed" || *status == "done" || *status == "paid") return RowState::completed;
    if (*status == "dead" || *status == "given up") return RowState::dead;
    return RowState::discarded;
}

constexpr auto jobs = fila::job_table<std::int64_t>("fila_jobs");

struct JobTableHarness {
    using store_type = fila::sqlite::SqliteStore<std::remove_const_t<decltype(jobs)>>;
    static constexpr std::string_view name = "sqlite job table";
    static constexpr fila::testing::StoreTraits traits{
        .concurrent_transactions = false, .peers = true, .durable = true};

    JobTableHarness() { reopen(); }
    store_type& store() { return *store_; }
    store_type& peer() {
        if (!peer_) peer_.emplace(fila::sqlite::Config{file_.path()}, jobs);
        return *peer_;
    }
    void reopen() {
        store_.reset();
        store_.emplace(fila::sqlite::Config{file_.path()}, jobs, fila::OnStart::migrate);
    }
    std::int64_t put(std::int64_t n, fila::EnqueueOptions const& options) {
        store_->enqueue({{0, n}}, options);
        return plain().number("SELECT max(id) FROM fila_jobs");
    }
    std::int64_t put_broken() {
        plain().exec("INSERT INTO fila_jobs (payload) VALUES ('seven')");
        return plain().number("SELECT max(id) FROM fila_jobs");
    }
    std::int64_t number(fila::Job<std::int64_t> const& row) { return row.payload; }
    void expire(std::int64_t key) {
        (void)plain().text("UPDATE fila_jobs SET lease_until = 1 WHERE id = ?1", {key});
    }
    void clear_lease(std::int64_t key) {
        (void)plain().text("UPDATE fila_jobs SET lease_until = NULL WHERE id = ?1", {key});
    }
    void make_due(std::int64_t key) {
        (void)plain().text("UPDATE fila_jobs SET due_at = ?1 WHERE id = ?2",
                           {fila::sqlite::detail::now_micros(), key});
    }
    RowState state(std::int64_t key) {
        return state_of(plain().text("SELECT status FROM fila_jobs WHERE id = ?1", {key}));
    }

private:
    PlainConnection& plain() {
        if (!plain_) plain_.emplace(file_.path());
        return *plain_;
    }
    SqliteFile file_;
    std::optional<store_type> store_, peer_;
    std::optional<PlainConnection> plain_;
};

/// A table that was there before us: text keys, their own words, time as text, no priority.
struct Letter {
    std::string code;
    std::int64_t number = 0;
};
constexpr auto letters = fila::table<Letter>("the letters")
                             .key("code", &Letter::code)
                             .column("number", &Letter::number)
                             .status("state", {.pending = "new",
                                               .processing = "at work",
                                               .completed = "done",
                                               .dead = "given up",
                                               .discarded = "dropped"})
                             .lease_until("leased until")
                             .fence("version")
                             .failures("failures")
                             .crashes("crashes")
                             .due_at("not before", fila::Nulls::due_now)
                             .last_error("note")
                             .fixed("kind", "letter");

struct OwnTableHarness {
    using store_type = fila::sqlite::SqliteStore<std::remove_const_t<decltype(letters)>>;
    static constexpr std::string_view name = "sqlite own table";
    static constexpr fila::testing::StoreTraits traits{
        .ordered_by_priority = false, .concurrent_transactions = false, .peers = true, .durable = true};

    OwnTableHarness() {
        plain().exec(
            R"(CREATE TABLE "the letters" ("leased until" TEXT, state TEXT NOT NULL, unrelated INT DEFAULT 7,
            "number" INTEGER, code TEXT NOT NULL UNIQUE COLLATE NOCASE, "version" INT, failures INT, crashes INT,
            "not before" TEXT, kind TEXT, note TEXT))");
        reopen();
    }
    store_type& store() { return *store_; }
    store_type& peer() {
        if (!peer_) peer_.emplace(config(), letters);
        return *peer_;
    }
    void reopen() {
        store_.reset();
        store_.emplace(config(), letters);
    }
    std::string put(std::int64_t n, fila::EnqueueOptions const& options) {
        auto const code = next_code();
        store_->enqueue({{code, n}}, options);
        return code;
    }
    std::string put_broken() {
        auto const code = next_code();
        (void)plain().text(R"(INSERT INTO "the letters" (code, state, kind) VALUES (?1, 'new', 'letter'))",
                           {code});
        return code;
    }
    std::int64_t number(Letter const& row) { return row.number; }
    void expire(std::string const& key) {
        (void)plain().text(
            R"(UPDATE "the letters" SET "leased until" = '2001-01-01 00:00:00.000' WHERE code = ?1)", {key});
    }
    void clear_lease(std::string const& key) {
        (void)plain().text(R"(UPDATE "the letters" SET "leased until" = NULL WHERE code = ?1)", {key});
    }
    void make_due(std::string const& key) {
        (void)plain().text(R"(UPDATE "the letters" SET "not before" = NULL WHERE code = ?1)", {key});
    }
    RowState state(std::string const& key) {
        return state_of(plain().text(R"(SELECT state FROM "the letters" WHERE code = ?1)", {key}));
    }

private:
    [[nodiscard]] fila::sqlite::Config config() const {
        return {.file = file_.path(), .times = fila::sqlite::TimeFormat::text};
    }
    std::string next_code() { return "code " + std::to_string(1000 + ++codes_); }
    PlainConnection& plain() {
        if (!plain_) plain_.emplace(file_.path());
        return *plain_;
    }
    SqliteFile file_;
    std::optional<store_type> store_, peer_;
    std::optional<PlainConnection> plain_;
    int codes_ = 0;
};

/// A status and a time of change are all there is: rescue by age, no heartbeat, no counters.
struct Hook {
    std::int64_t id = 0;
    std::int64_t number = 0;
};
constexpr auto hooks = fila::table<Hook>("hooks")
                           .key("id", &Hook::id)
                           .column("number", &Hook::number)
                           .status("status")
                           .updated_at("updated_at")
                           .last_error("last_error");

struct AgeHarness {
    using store_type = fila::sqlite::SqliteStore<std::remove_const_t<decltype(hooks)>>;
    static constexpr std::string_view name = "sqlite by age";
    static constexpr fila::testing::StoreTraits traits{.ordered_by_priority = false,
                                                       .delays = false,
                                                       .delayed_put = false,
                                                       .counts_failures = false,
                                                       .counts_crashes = false,
                                                       .concurrent_transactions = false,
                                                       .durable = true};

    AgeHarness() { reopen(); }
    store_type& store() { return *store_; }
    void reopen() {
        store_.reset();
        store_.emplace(fila::sqlite::Config{file_.path()}, hooks, fila::OnStart::migrate);
    }
    std::int64_t put(std::int64_t n, fila::EnqueueOptions const& options) {
        store_->enqueue({{0, n}}, options);
        return plain().number("SELECT max(id) FROM hooks");
    }
    std::int64_t number(Hook const& row) { return row.number; }
    void expire(std::int64_t key) {
        (void)plain().text("UPDATE hooks SET updated_at = 1 WHERE id = ?1", {key});
    }
    RowState state(std::int64_t key) {
        return state_of(plain().text("SELECT status FROM hooks WHERE id = ?1", {key}));
    }

private:
    PlainConnection& plain() {
        if (!plain_) plain_.emplace(file_.path());
        return *plain_;
    }
    SqliteFile file_;
    std::optional<store_type> store_;
    std::optional<PlainConnection> plain_;
};

}  // namespace

FILA_STORE_CONFORMANCE(JobTableHarness)
FILA_STORE_CONFORMANCE(OwnTableHarness)
FILA_STORE_CONFORMANCE(AgeHarness)
