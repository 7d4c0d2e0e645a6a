// SPDX-License-Identifier: MIT
// doctor() on SQLite: each condition is made, found, mended by what the finding says, and gone.
#include "adapters/sqlite/sqlite_file.hpp"
#include "adapters/sqlite/sqlite_verbs.hpp"
#include "support/catch.hpp"
#include <fila/sqlite/sqlite_store.hpp>
#include <fila/table/job_table.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace std::chrono_literals;
using fila::DoctorLimits;
using fila::Finding;
using fila::sqlite::Config;
using fila::sqlite::SqliteStore;
using fila::sqlite::TimeFormat;

constexpr auto jobs = fila::job_table<std::string>("jobs");
using Job = fila::Job<std::string>;

std::vector<Job> some(int n, std::size_t size = 1) {
    return std::vector<Job>(static_cast<std::size_t>(n), Job{0, std::string(size, 'x')});
}
std::optional<Finding> find(std::vector<Finding> const& all, std::string_view what) {
    auto const at = std::find_if(all.begin(), all.end(),
                                 [&](Finding const& f) { return f.what.find(what) != std::string::npos; });
    return at == all.end() ? std::nullopt : std::optional{*at};
}
std::string text(std::vector<Finding> const& all) {
    std::string out;
    for (auto const& f : all) out += f.what + "\n    " + f.mend + '\n';
    return out;
}
/// Found alone; then mended, and nothing is found.
template <class Store, class Mend>
void cured_by(Store& store, std::string_view what, Mend mend, DoctorLimits const& limits = {}) {
    auto const before = store.doctor(limits);
    INFO(what << " in\n" << text(before));
    auto const finding = find(before, what);
    REQUIRE(finding);
    CHECK(before.size() == 1);
    CHECK_FALSE(finding->fatal);
    mend(finding->mend);
    auto const after = store.doctor(limits);
    INFO("then\n" << text(after));
    CHECK(after.empty());
}
template <class Store>
void cured(PlainConnection& plain, Store& store, std::string_view what, DoctorLimits const& limits = {}) {
    cured_by(store, what, [&](std::string const& sql) { plain.exec(sql); }, limits);
}
void shell(std::string const& command) { REQUIRE(std::system(command.c_str()) == 0); }

/// Files of a user who is not root, for whom modes mean nothing.
struct NotRoot {
    NotRoot() {
        if (was == 0) REQUIRE(::seteuid(65534) == 0);
    }
    NotRoot(NotRoot const&) = delete;
    NotRoot& operator=(NotRoot const&) = delete;
    ~NotRoot() {
        if (was == 0 && ::seteuid(0) != 0) std::abort();
    }
    ::uid_t was = ::geteuid();
};

}  // namespace

TEST_CASE("doctor: a healthy queue in a file, or in memory, has no findings") {
    SqliteFile file;
    for (auto const& path : {file.path(), std::string{":memory:"}}) {
        SqliteStore store{Config{path}, jobs, fila::OnStart::migrate};
        CHECK(store.enqueue(some(100)) == 100);
        CHECK(claim(store, 10).size() == 10);
        auto const found = store.doctor();
        INFO(text(found));
        CHECK(found.empty());
    }
}

TEST_CASE("doctor: rows that stay, in each format of times, and the SQL that frees them") {
    for (auto const format : {TimeFormat::unix_micros, TimeFormat::unix_seconds, TimeFormat::text}) {
        CAPTURE(static_cast<int>(format));
        SqliteFile file;
        PlainConnection plain{file.path()};
        SqliteStore store{Config{.file = file.path(), .times = format}, jobs, fila::OnStart::migrate};
        store.enqueue(some(3));
        auto const at = [&](std::string const& hours) {
            if (format == TimeFormat::text)
                return "strftime('%Y-%m-%d %H:%M:%f', 'now', '" + hours + " hours')";
            return "CAST(strftime('%s', 'now', '" + hours + " hours') AS INTEGER)" +
                   (format == TimeFormat::unix_micros ? " * 1000000" : "");
        };
        CHECK(claim(store, 3).size() == 3);
        plain.exec("UPDATE jobs SET lease_until = " + at("-3"));
        auto const found = find(store.doctor(), "the lease is over");
        REQUIRE(found);
        INFO(found->what);
        CHECK(found->what.find("3 rows of") == 0);
        CHECK(found->what.find("3 h at the longest") != std::string::npos);
        CHECK(store.doctor({.unrescued = 4h}).empty());
        cured(plain, store, "the lease is over");
        CHECK(plain.number("SELECT sum(crashes) FROM jobs") == 3);

        CHECK(claim(store, 3).size() == 3);
        plain.exec("UPDATE jobs SET lease_until = NULL WHERE id = 1");
        cured(plain, store, "processing without a \"lease_until\"");
        plain.exec("UPDATE jobs SET lease_until = " + at("9000") + " WHERE id = 2");
        cured(plain, store, "a lease that ends in more than 365 d");
        plain.exec("UPDATE jobs SET status = 'pending'");

        plain.exec("UPDATE jobs SET priority = id, due_at = CASE id WHEN 2 THEN " + at("9000") +
                   " WHEN 3 THEN " + at("24") + " ELSE due_at END");
        auto const due = find(store.doctor(), "due in more than 365 d");
        REQUIRE(due);
        CHECK(due->what.find("1 rows of") == 0);
        CHECK(find(store.doctor({.ahead = 1h}), "2 rows of"));
        cured(plain, store, "due in more than 365 d");
        CHECK(claim(store, 3).size() == 2);
    }
}

TEST_CASE("doctor: a mapping of few columns") {
    struct Row {
        std::string name;
    };
    SqliteFile file;
    PlainConnection plain{file.path()};
    constexpr auto plainest = fila::table<Row>("t").key("name", &Row::name).status("status").due_at("due");
    plain.exec("CREATE TABLE t (name TEXT PRIMARY KEY, status TEXT, due INTEGER)");
    SqliteStore store{Config{file.path()}, plainest, fila::OnStart::nothing};
    plain.exec(store.statements().next_index.text);
    plain.exec("INSERT INTO t VALUES ('a', 'pending', NULL), ('b', 'processing', 0), ('c', 'completed', 0)");
    auto const found = find(store.doctor(), "pending with a NULL \"due\"");
    REQUIRE(found);
    CHECK(found->what.find("the key a") != std::string::npos);
    plain.exec(found->mend);
    CHECK_FALSE(find(store.doctor(), "pending with a NULL"));

    constexpr auto patient =
        fila::table<Row>("t").key("name", &Row::name).status("status").due_at("due", fila::Nulls::due_now);
    SqliteStore trusting{Config{file.path()}, patient};
    auto const stuck =
        find(trusting.doctor(), "1 of 3 rows of \"t\" that were looked at have the status 'processing'");
    REQUIRE(stuck);
    CHECK(stuck->mend.find("SELECT * FROM \"t\" WHERE \"status\" = 'processing'") == 0);
    CHECK_FALSE(find(trusting.doctor({.known_words = {"processing"}}), "'processing'"));
    plain.exec("UPDATE t SET status = 'PENDING' WHERE name = 'b'");
    auto const upper = find(trusting.doctor(), "'PENDING'");
    REQUIRE(upper);
    plain.exec(upper->mend);
    CHECK_FALSE(find(trusting.doctor(), "which is none of"));
}

TEST_CASE("doctor: claim and rescue that no index serves, and rows that are not looked for then") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    store.enqueue(some(2));
    plain.exec("UPDATE jobs SET status = 'processing', lease_until = 0");
    plain.exec("DROP INDEX jobs_fila_stale");
    CHECK_FALSE(find(store.doctor(), "the lease is over"));
    auto const rescue = find(store.doctor(), "no index serves the rescue");
    REQUIRE(rescue);
    plain.exec(rescue->mend);
    CHECK(store.rescue({}).rows() == 2);
    CHECK(store.doctor().empty());
    plain.exec("DROP INDEX jobs_fila_next");
    cured(plain, store, "no index serves the claim");
}

TEST_CASE("doctor: no busy time-out") {
    SqliteFile file;
    SqliteStore store{Config{.file = file.path(), .busy_timeout = 0ms}, jobs, fila::OnStart::migrate};
    auto const found = store.doctor();
    REQUIRE(found.size() == 1);
    CHECK(found[0].what.find("busy_timeout is 0") == 0);
    SqliteStore patient{Config{.file = file.path(), .busy_timeout = 1s}, jobs};
    CHECK(patient.doctor().empty());
}

TEST_CASE("doctor: a file system without shared memory has no WAL") {
    struct Default {
        Default() : before{sqlite3_vfs_find(nullptr)} {
            sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
        }
        ~Default() { sqlite3_vfs_register(before, 1); }
        sqlite3_vfs* before;
    };
    SqliteFile file;
    {
        Default const odd;
        SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
        auto const found = store.doctor({.write_lock = 10ms});
        INFO(text(found));
        REQUIRE(found.size() == 1);
        CHECK(found[0].what.find("is delete, not wal") != std::string::npos);
        CHECK(found[0].mend.find("PRAGMA journal_mode = WAL") == 0);
    }
    SqliteStore store{Config{file.path()}, jobs};
    CHECK(store.doctor().empty());
}

TEST_CASE("doctor: a reader with an old snapshot keeps the log") {
    SqliteFile file;
    PlainConnection plain{file.path()}, reader{file.path()};
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    DoctorLimits const limits{.log_bytes = 1 << 20};
    store.enqueue(some(1));
    reader.exec("BEGIN; SELECT count(*) FROM jobs");
    store.enqueue(some(1000, 4000));
    CHECK(store.doctor().empty());
    cured_by(
        store, "a reader keeps an old snapshot",
        [&](std::string const& sql) {
            reader.exec("COMMIT");
            plain.exec(sql);
        },
        limits);
    CHECK(std::filesystem::file_size(file.path() + "-wal") == 0);
}

TEST_CASE("doctor: somebody holds the write lock") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    plain.exec("BEGIN IMMEDIATE");
    cured_by(store, "held the write lock", [&](std::string const&) { plain.exec("COMMIT"); },
             {.write_lock = 20ms});
}

TEST_CASE("doctor: of a file that was moved away it says what every verb says") {
    SqliteFile file;
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    auto const elsewhere = file.path() + ".old";
    std::filesystem::rename(file.path(), elsewhere);
    try {
        (void)store.doctor();
        FAIL("there is no file");
    } catch (fila::Error const& e) {
        CHECK(std::string{e.what()}.find("put it back") != std::string::npos);
    }
    std::filesystem::rename(elsewhere, file.path());
    CHECK(store.doctor().empty());
}

TEST_CASE("doctor: modes and owners of the files, where the mend is for a shell") {
    NotRoot const user;
    SqliteFile file;
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    store.enqueue(some(1));
    for (auto const* suffix : {"-wal", "-shm"}) {
        REQUIRE(::chmod((file.path() + suffix).c_str(), 0640) == 0);
        REQUIRE(::chmod(file.path().c_str(), 0644) == 0);
        REQUIRE(::chmod((file.path() + (suffix[1] == 'w' ? "-shm" : "-wal")).c_str(), 0644) == 0);
        cured_by(store, std::string{suffix} + " has another mode than the file", shell);
    }
    REQUIRE(::chmod(file.directory().c_str(), 0555) == 0);
    cured_by(store, "the log cannot be made anew", shell);
    REQUIRE(::chmod(file.path().c_str(), 0444) == 0);
    auto const found = find(store.doctor(), "is not writable for us: nothing can be claimed");
    REQUIRE(found);
    shell(found->mend);
    CHECK(store.doctor().empty());

    if (user.was != 0) return;  // only root can give files away
    REQUIRE(::seteuid(0) == 0);
    int const given = ::chown((file.path() + "-shm").c_str(), 12345, static_cast<::gid_t>(-1));
    REQUIRE(::seteuid(65534) == 0);
    REQUIRE(given == 0);
    cured_by(store, "-shm belongs to another user", [](std::string const& command) {
        REQUIRE(::seteuid(0) == 0);
        shell(command);
        REQUIRE(::seteuid(65534) == 0);
    });
}

TEST_CASE("doctor: how long it takes on a million rows of SQLite", "[.measure]") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    plain.exec(
        "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 1000000) INSERT INTO "
        "jobs(payload, status, lease_until) SELECT 'x', CASE n % 5 WHEN 0 THEN 'pending' WHEN 1 THEN "
        "'processing' WHEN "
        "2 THEN 'dead' ELSE 'completed' END, CASE n % 5 WHEN 1 THEN 1 END FROM i");
    for (int i = 0; i < 3; ++i) {
        auto const begun = std::chrono::steady_clock::now();
        auto const found = store.doctor();
        auto const took = std::chrono::steady_clock::now() - begun;
        std::cout << "doctor() took " << std::chrono::duration<double, std::milli>{took}.count() << " ms\n"
                  << text(found);
    }
}
