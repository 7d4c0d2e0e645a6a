// SPDX-License-Identifier: MIT
// Rows that are inserted many at once: as many as were given, in their order, and as if they were inserted one by one.
#include "adapters/sqlite/sqlite_file.hpp"
#include "support/catch.hpp"
#include <fila/sqlite/sqlite_store.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using fila::sqlite::Config;
using fila::sqlite::SqliteStore;

namespace {

struct Parcel {
    std::int64_t id = 0;
    std::optional<std::string> text;
    std::optional<fila::Bytes> raw;
    std::optional<fila::Instant> seen;
};
/// What the many rows are made from is between names and words that look like it.
constexpr auto parcels = fila::table<Parcel>("VALUES (:delay, 'a\"b')")
                             .key("id", &Parcel::id, fila::KeySource::row)
                             .column("it's :c1", &Parcel::text)
                             .column("raw", &Parcel::raw)
                             .column("seen", &Parcel::seen)
                             .fixed("queue", "VALUES ('\":c0\"', :now)")
                             .status("status", {.pending = "it's (pending"})
                             .due_at("due_at")
                             .priority("priority")
                             .lease_until("lease_until")
                             .fence("fence");
constexpr char const* parcels_name = R"sql("VALUES (:delay, 'a""b')")sql";

std::vector<Parcel> some(std::size_t n) {
    std::vector<Parcel> rows(n);
    for (std::size_t i = 0; i < n; ++i) {
        auto& row = rows[i];
        row.id = static_cast<std::int64_t>(i) + 1;
        if (i % 2 == 0) row.text = "text " + std::to_string(i);
        if (i % 3 == 0) row.raw = fila::Bytes(i % 5, std::byte{7});
        if (i % 7 != 0) row.seen = fila::Instant{std::chrono::seconds{1'700'000'000 + i}};
    }
    return rows;
}

struct Parcels {
    explicit Parcels(fila::sqlite::TimeFormat times = fila::sqlite::TimeFormat::unix_micros)
        : store{Config{.file = file.path(), .times = times}, parcels, fila::OnStart::migrate} {}
    SqliteFile file;
    SqliteStore<std::remove_const_t<decltype(parcels)>> store;
    PlainConnection plain{file.path()};

    std::int64_t count() { return plain.number(std::string{"SELECT count(*) FROM "} + parcels_name); }
    /// All but the due time, which is another one each time.
    std::vector<std::optional<std::string>> content() {
        return plain.column(
            std::string{"SELECT concat_all FROM (SELECT id, id || '|' || quote(\"it's :c1\") || '|' || "
                        "quote(raw) || '|' || quote(seen) || '|' || queue || '|' || status || '|' || "
                        "typeof(due_at) || '|' || priority || '|' || fence AS concat_all FROM "} +
            parcels_name + ") ORDER BY id");
    }
};

/// A table that somebody made, and what they say of conflicts.
struct Item {
    std::int64_t id = 0;
    std::int64_t n = 0;
};
constexpr auto items = fila::table<Item>("items")
                           .key("id", &Item::id, fila::KeySource::row)
                           .column("n", &Item::n)
                           .status("status");
struct Items {
    explicit Items(std::string const& ddl) : plain{file.path()} {
        plain.exec(ddl);
        store.emplace(Config{file.path()}, items);
    }
    SqliteFile file;
    PlainConnection plain;
    std::optional<SqliteStore<std::remove_const_t<decltype(items)>>> store;
};
std::vector<Item> numbered(std::size_t n) {
    std::vector<Item> rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i].id = rows[i].n = static_cast<std::int64_t>(i) + 1;
    return rows;
}

/// How many statements were run on a connection, but for those of triggers.
class Traced {
public:
    explicit Traced(sqlite3* db) : db_{db} { sqlite3_trace_v2(db, SQLITE_TRACE_STMT, &Traced::one, &count); }
    Traced(Traced const&) = delete;
    Traced& operator=(Traced const&) = delete;
    ~Traced() { sqlite3_trace_v2(db_, 0, nullptr, nullptr); }
    int count = 0;

private:
    static int one(unsigned, void* count, void*, void* text) {
        if (std::string_view{static_cast<char const*>(text)}.substr(0, 2) != "--")
            ++*static_cast<int*>(count);
        return 0;
    }
    sqlite3* db_;
};

}  // namespace

TEST_CASE("sqlite: any number of rows is enqueued whole, counted, and as it is") {
    using enum fila::sqlite::TimeFormat;
    auto const [n, times] = GENERATE(table<std::size_t, fila::sqlite::TimeFormat>({{0, unix_micros},
                                                                                   {1, unix_micros},
                                                                                   {49, unix_micros},
                                                                                   {50, unix_micros},
                                                                                   {51, unix_micros},
                                                                                   {157, unix_micros},
                                                                                   {199, unix_micros},
                                                                                   {200, unix_micros},
                                                                                   {201, unix_micros},
                                                                                   {217, unix_micros},
                                                                                   {217, text},
                                                                                   {217, unix_seconds},
                                                                                   {1000, unix_micros},
                                                                                   {1001, unix_micros},
                                                                                   {2050, text}}));
    CAPTURE(n, static_cast<int>(times));
    auto const rows = some(n);
    fila::EnqueueOptions const options{.priority = -3};
    Parcels one_by_one{times}, ours{times}, user{times}, in_transaction{times};
    one_by_one.plain.exec("BEGIN");
    for (auto const& row : rows) one_by_one.store.enqueue(one_by_one.plain.get(), std::vector{row}, options);
    one_by_one.plain.exec("COMMIT");
    CHECK(ours.store.enqueue(rows, options) == n);
    CHECK(user.store.enqueue(user.plain.get(), rows, options) == n);
    in_transaction.plain.exec("BEGIN");
    CHECK(in_transaction.store.enqueue(in_transaction.plain.get(), rows, options) == n);
    in_transaction.plain.exec("COMMIT");

    auto const content = ours.content();
    CHECK(content.size() == n);
    CHECK(content == one_by_one.content());
    CHECK(user.content() == content);
    CHECK(in_transaction.content() == content);
}

TEST_CASE("sqlite: many rows are due in their order, and with a delay all of them later") {
    Parcels t;
    auto const before = fila::sqlite::detail::now_micros();
    CHECK(t.store.enqueue(some(120)) == 120);
    auto const after = fila::sqlite::detail::now_micros();
    auto const from = std::string{" FROM "} + parcels_name;
    CHECK(t.plain.number("SELECT min(due_at)" + from) >= before);
    CHECK(t.plain.number("SELECT max(due_at)" + from) <= after);
    CHECK(t.plain.number("SELECT count(*)" + from + " AS a WHERE due_at < (SELECT due_at" + from +
                         " AS b WHERE b.id = a.id - 1)") == 0);
    t.plain.exec("DELETE" + from);
    CHECK(t.store.enqueue(some(120), {.delay = 1h}) == 120);
    CHECK(t.plain.number("SELECT min(due_at)" + from) >= before + 3'600'000'000);
}

TEST_CASE("sqlite: many rows take few statements, as many as the limits of the user's connection allow") {
    Parcels t;
    auto const rows = some(1000);
    auto const statements = [&](sqlite3* db, std::function<void()> const& enqueue) {
        Traced const traced{db};
        enqueue();
        CHECK(t.count() == 1000);
        t.plain.exec(std::string{"DELETE FROM "} + parcels_name);
        return traced.count;
    };
    auto const by_user = [&](int limit, int value) {
        PlainConnection mine{t.file.path()};
        if (limit >= 0) sqlite3_limit(mine.get(), limit, value);
        return statements(mine.get(), [&] { CHECK(t.store.enqueue(mine.get(), rows) == 1000); });
    };
    CHECK(by_user(-1, 0) == 1000 / 20 + 2);
    // Seven parameters a row.
    CHECK(by_user(SQLITE_LIMIT_VARIABLE_NUMBER, 70) == 1000 / 10 + 2);
    CHECK(by_user(SQLITE_LIMIT_VARIABLE_NUMBER, 15) == 1000 / 2 + 2);
    CHECK(by_user(SQLITE_LIMIT_VARIABLE_NUMBER, 13) == 1000 + 2);
    CHECK(by_user(SQLITE_LIMIT_SQL_LENGTH, 700) == 1000 + 2);
    CHECK(by_user(SQLITE_LIMIT_VDBE_OP, 100) == 1000 + 2);
    CHECK(by_user(SQLITE_LIMIT_COMPOUND_SELECT, 2) == 1000 / 20 + 2);

    fila::sqlite::Connection connection{Config{t.file.path()}};
    fila::detail::SqlCodec const codec{parcels};
    auto pending = codec.insert_rows();
    for (auto const& row : rows) codec.add_insert(pending, row, {});
    CHECK(statements(connection.handle(), [&] {
              std::size_t n = 0;
              connection.run_rows(t.store.statements().enqueue, {}, pending, [&](auto const&) { ++n; });
              CHECK(n == 1000);
          }) == 1000 / 50 + 2);
}

TEST_CASE("sqlite: a row of many that breaks a constraint is named as ever, and nothing is inserted") {
    // In the first, a middle and the last statement of many, and behind them.
    auto const bad = GENERATE(1, 30, 120, 219, 400, 405);
    CAPTURE(bad);
    Items t{
        "CREATE TABLE items (id INTEGER PRIMARY KEY, n INT UNIQUE CHECK (n < 1000), status TEXT NOT NULL) "
        "STRICT"};
    auto rows = numbered(409);
    auto const refused = [&](auto enqueue, std::string const& code, std::string const& why) {
        try {
            enqueue();
            FAIL("a bad row went in");
        } catch (fila::Error const& e) {
            CHECK_FALSE(e.retryable());
            CHECK_FALSE(e.maybe_applied());
            CHECK(e.code() == code);
            CHECK(e.what() == "fila sqlite: running a statement: " + why);
        }
    };
    auto const on_each_way = [&](std::string const& code, std::string const& why) {
        refused([&] { t.store->enqueue(rows); }, code, why);
        refused([&] { t.store->enqueue(t.plain.get(), rows); }, code, why);
        CHECK(sqlite3_get_autocommit(t.plain.get()) != 0);
        CHECK(t.plain.number("SELECT count(*) FROM items WHERE id < 5000") == 0);
        t.plain.exec("BEGIN");
        t.plain.exec("INSERT INTO items VALUES (9000, 900, 'theirs')");
        refused([&] { t.store->enqueue(t.plain.get(), rows); }, code, why);
        CHECK(sqlite3_get_autocommit(t.plain.get()) == 0);
        CHECK(t.plain.number("SELECT count(*) FROM items WHERE id < 5000") == 0);
        CHECK(t.plain.number("SELECT count(*) FROM items WHERE id = 9000") == 1);  // theirs to keep or not
        t.plain.exec("ROLLBACK");
    };
    auto& row = rows[static_cast<std::size_t>(bad)];
    row.n = 2000;
    on_each_way("275", "CHECK constraint failed: n < 1000");
    row.n = bad == 1 ? 1 : 2;
    on_each_way("2067", "UNIQUE constraint failed: items.n");
    row.n = 500;
    t.plain.exec("INSERT INTO items VALUES (7000, 500, 'there before')");
    on_each_way("2067", "UNIQUE constraint failed: items.n");
    row.n = bad + 1;
    t.plain.exec("CREATE TRIGGER no BEFORE INSERT ON items WHEN new.id = " + std::to_string(bad + 1) +
                 " BEGIN SELECT raise(ABORT, 'not this one'); END");
    on_each_way("1811", "not this one");
    t.plain.exec("DROP TRIGGER no");
    CHECK(t.store->enqueue(rows) == 409);
    CHECK(t.plain.number("SELECT count(*) FROM items WHERE id = n") == 409);
}

TEST_CASE("sqlite: what a table says of conflicts holds for many rows, too") {
    bool const by_user = GENERATE(false, true);
    auto const inserted = [&](Items& t, std::vector<Item> const& rows) {
        return by_user ? t.store->enqueue(t.plain.get(), rows) : t.store->enqueue(rows);
    };
    auto rows = numbered(450);
    rows[333].n = 7;
    rows[444].n = 8;
    SECTION("ignored") {
        Items t{"CREATE TABLE items (id INTEGER PRIMARY KEY, n INT UNIQUE ON CONFLICT IGNORE, status TEXT)"};
        CHECK(inserted(t, rows) == 448);
        CHECK(t.plain.number("SELECT count(*) FROM items WHERE id = n") == 448);
    }
    SECTION("replaced") {
        Items t{"CREATE TABLE items (id INTEGER PRIMARY KEY, n INT UNIQUE ON CONFLICT REPLACE, status TEXT)"};
        CHECK(inserted(t, rows) == 450);
        CHECK(t.plain.number("SELECT count(*) FROM items") == 448);
        CHECK(t.plain.number("SELECT id FROM items WHERE n = 7") == 334);
    }
    SECTION("a trigger leaves rows out") {
        Items t{
            "CREATE TABLE items (id INTEGER PRIMARY KEY, n INT, status TEXT); CREATE TRIGGER few BEFORE "
            "INSERT ON "
            "items WHEN new.id % 10 = 3 BEGIN SELECT raise(IGNORE); END"};
        CHECK(inserted(t, rows) == 405);
        CHECK(t.plain.number("SELECT count(*) FROM items") == 405);
    }
    SECTION("a trigger ignores conflicts of its own, and replaces") {
        Items t{
            "CREATE TABLE items (id INTEGER PRIMARY KEY, n INT, status TEXT); CREATE TABLE seen (d INT "
            "UNIQUE, last "
            "INT); CREATE TABLE latest (one INT UNIQUE, last INT); CREATE TRIGGER log AFTER INSERT ON items "
            "BEGIN "
            "INSERT OR IGNORE INTO seen VALUES (new.id / 100, new.id); INSERT OR REPLACE INTO latest VALUES "
            "(1, "
            "new.id); END"};
        CHECK(inserted(t, rows) == 450);
        CHECK(t.plain.number("SELECT count(*) FROM items") == 450);
        CHECK(t.plain.number("SELECT sum(last) FROM seen") == 1 + 100 + 200 + 300 + 400);
        CHECK(t.plain.number("SELECT last FROM latest") == 450);
    }
    SECTION("the transaction is rolled back") {
        Items t{
            "CREATE TABLE items (id INTEGER PRIMARY KEY, n INT UNIQUE ON CONFLICT ROLLBACK, status TEXT)"};
        if (by_user) t.plain.exec("BEGIN");
        CHECK_THROWS_WITH(inserted(t, rows),
                          "fila sqlite: running a statement: UNIQUE constraint failed: items.n");
        CHECK(sqlite3_get_autocommit(t.plain.get()) != 0);
        CHECK(t.plain.number("SELECT count(*) FROM items") == 0);
        CHECK(inserted(t, numbered(450)) == 450);
    }
    SECTION("a trigger rolls it back") {
        Items t{
            "CREATE TABLE items (id INTEGER PRIMARY KEY, n INT, status TEXT); CREATE TRIGGER no AFTER INSERT "
            "ON items "
            "WHEN new.n = 7 BEGIN SELECT raise(ROLLBACK, 'not seven'); END"};
        if (by_user) t.plain.exec("BEGIN");
        CHECK_THROWS_WITH(inserted(t, rows), "fila sqlite: running a statement: not seven");
        CHECK(sqlite3_get_autocommit(t.plain.get()) != 0);
        CHECK(t.plain.number("SELECT count(*) FROM items") == 0);
    }
}

TEST_CASE(
    "sqlite: text that is too long, in the middle of many rows, is refused before anything is inserted") {
    Parcels t;
    PlainConnection mine{t.file.path()};
    sqlite3_limit(mine.get(), SQLITE_LIMIT_LENGTH, 20'000);
    auto rows = some(450);
    rows[222].text = std::string(20'001, 'x');
    CHECK_THROWS_WITH(t.store.enqueue(mine.get(), rows),
                      "fila sqlite: binding a value: string or blob too big");
    CHECK(t.count() == 0);
    rows[222].text = std::string(10'000, 'x');
    CHECK(t.store.enqueue(mine.get(), rows) == 450);
}

TEST_CASE("sqlite: only an INSERT of one row is made one of many") {
    auto const many = [](std::string const& text) {
        fila::Statement const statement{text, {"a", "b"}};
        return fila::sqlite::detail::ManyRows{statement}(2);
    };
    CHECK(many("INSERT INTO t (x, y)\nVALUES (:b, max(:a, ':b'))") ==
          "INSERT OR FAIL INTO t (x, y)\nVALUES (?2, max(?1, ':b')), (?4, max(?3, ':b'))");
    CHECK(many(R"(INSERT INTO "VALUES (" VALUES (:a, 'VALUES (''', ":b"))") ==
          R"(INSERT OR FAIL INTO "VALUES (" VALUES (?1, 'VALUES (''', ":b"), (?3, 'VALUES (''', ":b"))");
    for (auto const* other :
         {"", "UPDATE t SET x = :a", "INSERT INTO t SELECT :a", "INSERT INTO t VALUES (:a) RETURNING (x)",
          "INSERT INTO t VALUES (:a) ON CONFLICT DO UPDATE SET x = (:b)", "INSERT INTO t VALUES (:a), (:b)",
          "INSERT INTO t VALUES (:other)", "INSERT INTO t VALUES (:a", "INSERT INTO 'VALUES (:a)"})
        CHECK(many(other).empty());
}
