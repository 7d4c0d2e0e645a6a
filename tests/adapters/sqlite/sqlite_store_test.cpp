// SPDX-License-Identifier: MIT
// What each verb does to a user's table, and what of the table's content comes through.
#include "adapters/sqlite/sqlite_file.hpp"
#include "adapters/sqlite/sqlite_verbs.hpp"
#include "support/bad_input.hpp"
#include "support/catch.hpp"
#include <fila/sqlite/sqlite_store.hpp>
#include <fila/table/job_table.hpp>

#include <ranges>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using fila::Ack;
using fila::sqlite::Config;
using fila::sqlite::SqliteStore;

namespace {

struct Order {
    std::int64_t id = 0;
    std::string text;
    std::optional<fila::Bytes> raw;
    std::optional<double> factor;
    bool urgent = false;
    fila::Instant seen{};
    std::int64_t result = 0;
};
/// Odd names on purpose: a space, a quote, letters beyond ASCII.
constexpr auto orders = fila::table<Order>("the \"orders\" añé")
                            .key("id", &Order::id)
                            .column("text", &Order::text)
                            .column("raw", &Order::raw)
                            .column("factor", &Order::factor)
                            .column("urgent", &Order::urgent)
                            .column("se\"en at", &Order::seen)
                            .output("result", &Order::result)
                            .status("status")
                            .lease_until("lease_until")
                            .fence("fence")
                            .owner("owner")
                            .failures("failures")
                            .crashes("crashes")
                            .due_at("due_at")
                            .last_error("last error");
constexpr char const* orders_name = R"("the ""orders"" añé")";

struct Orders {
    SqliteFile file;
    SqliteStore<std::remove_const_t<decltype(orders)>> store{Config{file.path()}, orders,
                                                             fila::OnStart::migrate};
    PlainConnection plain{file.path()};

    std::optional<std::string> cell(std::string const& column, std::int64_t id) {
        return plain.text("SELECT " + column + " FROM " + orders_name + " WHERE id = ?1", {id});
    }
};

}  // namespace

TEST_CASE("sqlite: every type of value makes the round trip, in a table with odd names") {
    Orders t;
    Order row;
    row.text = std::string{"nul\0 'quote' \"two\" \\ {}\n", 25};
    row.raw = fila::Bytes{std::byte{0}, std::byte{255}, std::byte{'\''}};
    row.factor = 0.1;
    row.urgent = true;
    row.seen = fila::Instant{std::chrono::microseconds{1'700'000'000'123'456}};
    Order empty;
    t.store.enqueue({row, empty});

    auto const batch = claim(t.store);
    REQUIRE(batch.rows().size() == 2);
    CHECK(batch.broken().empty());
    auto const& a = batch.rows()[0];
    CHECK(a.text == row.text);
    CHECK(a.raw == row.raw);
    CHECK(a.factor == row.factor);
    CHECK(a.urgent);
    CHECK(a.seen == row.seen);
    auto const& b = batch.rows()[1];
    CHECK(b.text.empty());
    CHECK_FALSE(b.raw);
    CHECK_FALSE(b.factor);
    CHECK_FALSE(b.urgent);
    CHECK(b.seen == fila::Instant{});
    CHECK(a.id != b.id);
}

TEST_CASE("case 44: text beyond ASCII is kept byte by byte") {
    Orders t;
    std::vector<std::string> const texts{"e\u0301 is not \u00e9", "\u05e9\u05dc\u05d5\u05dd",
                                         "\U0001F469\u200D\U0001F680", "\uFFFF", "\U0010FFFF"};
    for (auto const& text : texts) {
        Order row;
        row.text = text;
        t.store.enqueue({row});
    }
    auto const batch = claim(t.store);
    REQUIRE(batch.rows().size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(batch.rows()[i].text == texts[i]);
    CHECK(settle(t.store, batch.tickets()[0],
                 fila::dead_letter("\U0001F4A5 \xff\xfe" + std::string(5000, 'x') + std::string{"\0", 1})) ==
          Ack::applied);
    auto const error = t.cell("\"last error\"", batch.tickets()[0].key);
    REQUIRE(error);
    CHECK(error->starts_with("\U0001F4A5 ??xxx"));
    CHECK(error->size() <= 4096);
}

TEST_CASE("case 47: a JSON payload is passed through as it is") {
    Orders t;
    std::string const deep = std::string(10000, '[') + std::string(10000, ']');
    std::vector<std::string> const payloads{"{\"n\":9007199254740993}", "1e400", "{\"a\":1,\"a\":2}",
                                            "\"\\ud800\"", deep};
    for (auto const& payload : payloads) {
        Order row;
        row.text = payload;
        t.store.enqueue({row});
    }
    auto const batch = claim(t.store);
    REQUIRE(batch.rows().size() == payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) CHECK(batch.rows()[i].text == payloads[i]);
}

TEST_CASE("case 50: times at the ends of their range disturb nobody") {
    Orders t;
    using us = std::chrono::microseconds;
    for (auto const time : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-62135596800000000},
                            std::numeric_limits<std::int64_t>::max()}) {
        Order row;
        row.seen = fila::Instant{us{time}};
        t.store.enqueue({row});
    }
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET due_at = 9223372036854775807 WHERE id = 3");
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET due_at = -9223372036854775808 WHERE id = 2");
    auto const batch = claim(t.store);
    REQUIRE(batch.rows().size() == 2);
    CHECK(batch.rows()[0].id == 2);
    CHECK(batch.rows()[1].seen == fila::Instant{us{std::numeric_limits<std::int64_t>::min()}});
    // The longest delay there is can be waited for.
    CHECK(settle(t.store, batch.tickets()[0], fila::retry(fila::forever)) == Ack::applied);
    CHECK(claim(t.store).empty());
}

TEST_CASE("sqlite: outcomes change the columns that they are about") {
    Orders t;
    t.store.enqueue({Order{}, Order{}, Order{}, Order{}, Order{}, Order{}, Order{}});
    auto const before = fila::sqlite::detail::now_micros();
    auto const batch = claim(t.store);
    REQUIRE(batch.tickets().size() == 7);
    auto const ticket = [&](std::size_t i) { return batch.tickets()[i]; };
    CHECK(settle(t.store, ticket(0), fila::complete()) == Ack::applied);
    CHECK(settle(t.store, ticket(1), fila::complete("paid")) == Ack::applied);
    CHECK(settle(t.store, ticket(2), fila::retry(1h, "busy")) == Ack::applied);
    CHECK(settle(t.store, ticket(3), fila::snooze(2h)) == Ack::applied);
    CHECK(settle(t.store, ticket(4), fila::release()) == Ack::applied);
    CHECK(settle(t.store, ticket(5), fila::discard("twice")) == Ack::applied);
    CHECK(settle(t.store, ticket(6), fila::dead_letter("no such account")) == Ack::applied);
    auto const key = [&](std::size_t i) { return ticket(i).key; };
    CHECK(t.cell("status", key(0)) == "completed");
    CHECK(t.cell("status", key(1)) == "paid");
    CHECK(t.cell("status", key(2)) == "pending");
    CHECK(t.cell("failures", key(2)) == "1");
    CHECK(t.cell("\"last error\"", key(2)) == "busy");
    CHECK(std::stoll(*t.cell("due_at", key(2))) >= before + 3'600'000'000);
    CHECK(t.cell("status", key(3)) == "pending");
    CHECK(t.cell("failures", key(3)) == "0");
    CHECK(std::stoll(*t.cell("due_at", key(3))) >= before + 7'200'000'000);
    CHECK(t.cell("status", key(4)) == "pending");
    CHECK(t.cell("failures", key(4)) == "0");
    CHECK(std::stoll(*t.cell("due_at", key(4))) <= before);
    CHECK(t.cell("status", key(5)) == "discarded");
    CHECK(t.cell("\"last error\"", key(5)) == "twice");
    CHECK(t.cell("failures", key(5)) == "0");
    CHECK(t.cell("status", key(6)) == "dead");
    CHECK(t.cell("failures", key(6)) == "1");
    for (std::size_t i = 0; i < 7; ++i) CHECK(t.cell("fence", key(i)) == "1");

    auto const again = claim(t.store);
    REQUIRE(again.tickets().size() == 1);
    CHECK(again.tickets()[0].key == key(4));
    CHECK(again.tickets()[0].fence == 2);
}

TEST_CASE("sqlite: result columns are written with the status, and only by the owner") {
    Orders t;
    t.store.enqueue({Order{}});
    auto batch = claim(t.store);
    auto const ticket = batch.tickets()[0];
    batch.rows()[0].result = 42;
    auto stale = ticket;
    --stale.fence;
    CHECK(settle(t.store, stale, fila::complete(), &batch.rows()[0]) == Ack::lost);
    CHECK(t.cell("result", ticket.key) == std::nullopt);
    CHECK(settle(t.store, ticket, fila::retry(0s), &batch.rows()[0]) == Ack::applied);
    CHECK(t.cell("result", ticket.key) == "42");

    // A settlement without a row leaves them alone.
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET due_at = 0");
    auto const second = claim(t.store);
    REQUIRE(second.tickets().size() == 1);
    CHECK(second.rows()[0].result == 0);  // written only: not mapped by .column
    CHECK(settle(t.store, second.tickets()[0], fila::complete()) == Ack::applied);
    CHECK(t.cell("result", ticket.key) == "42");
}

TEST_CASE("case 39: the first of two outcomes wins, in one call and in two") {
    Orders t;
    t.store.enqueue({Order{}, Order{}});
    auto const batch = claim(t.store);
    auto const one = batch.tickets()[0], two = batch.tickets()[1];
    CHECK(settle(t.store, one, fila::dead_letter("x")) == Ack::applied);
    CHECK(settle(t.store, one, fila::retry(0s)) == Ack::lost);
    CHECK(settle(t.store, one, fila::complete()) == Ack::lost);
    CHECK(extend(t.store, one) == Ack::lost);
    CHECK(t.cell("status", one.key) == "dead");
    CHECK(t.cell("failures", one.key) == "1");

    using Settlement = fila::settlement_t<decltype(t.store)>;
    std::vector<Settlement> const both{{two, fila::complete(), nullptr},
                                       {two, fila::dead_letter("late"), nullptr}};
    std::vector<Ack> acks(2, Ack::in_doubt);
    t.store.settle(both, acks);
    CHECK(acks[0] == Ack::applied);
    CHECK(acks[1] == Ack::lost);
    CHECK(t.cell("status", two.key) == "completed");
}

TEST_CASE("case 42: a settle of which the database refuses one row is refused as a whole, for good") {
    Orders t;
    t.store.enqueue({Order{}, Order{}, Order{}});
    t.plain.exec(std::string{"CREATE TRIGGER refuse BEFORE UPDATE ON "} + orders_name +
                 " WHEN new.result = 13 BEGIN SELECT raise(ABORT, 'no thirteen'); END");
    auto batch = claim(t.store);
    batch.rows()[1].result = 13;
    std::vector<fila::settlement_t<decltype(t.store)>> all;
    for (std::size_t i = 0; i < 3; ++i)
        all.push_back({batch.tickets()[i], fila::complete(), &batch.rows()[i]});
    std::vector<Ack> acks(3, Ack::lost);
    try {
        t.store.settle(all, acks);
        FAIL("the trigger should have refused row 2");
    } catch (fila::Error const& e) {
        CHECK_FALSE(e.retryable());
        CHECK_FALSE(e.maybe_applied());
        CHECK(std::string{e.what()}.find("no thirteen") != std::string::npos);
    }
    for (auto const& ticket : batch.tickets()) CHECK(t.cell("status", ticket.key) == "processing");
    CHECK(settle(t.store, batch.tickets()[0], fila::complete()) == Ack::applied);  // the connection is well
}

TEST_CASE("columns may be called as statements might call theirs: the order is that of the due times") {
    struct Row {
        std::int64_t id = 0;
    };
    constexpr auto mapping = fila::table<Row>("t")
                                 .key("start", &Row::id)
                                 .status("mark")
                                 .due_at("k")
                                 .lease_until("crashes")
                                 .fence("o1")
                                 .failures("fence");
    SqliteFile file;
    SqliteStore store{Config{file.path()}, mapping, fila::OnStart::migrate};
    store.enqueue({Row{}, Row{}, Row{}});
    PlainConnection plain{file.path()};
    plain.exec("UPDATE t SET k = 100 - start");
    auto transaction = store.begin();
    REQUIRE(transaction);
    fila::batch_t<decltype(store)> taken, claimed;
    transaction->claim({3, {}, {}}, taken);
    transaction.reset();
    store.claim({2, {}, 30s}, claimed);
    REQUIRE(taken.rows().size() == 3);
    REQUIRE(claimed.rows().size() == 2);
    for (std::int64_t i = 0; i < 3; ++i) CHECK(taken.rows()[static_cast<std::size_t>(i)].id == 3 - i);
    for (std::int64_t i = 0; i < 2; ++i) CHECK(claimed.rows()[static_cast<std::size_t>(i)].id == 3 - i);
}

TEST_CASE("case 33: undecodable rows fail alone") {
    Orders t;
    for (int i = 0; i < 100; ++i) t.store.enqueue({Order{}});
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET urgent = 'perhaps' WHERE id = 10");
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET factor = 'much' WHERE id = 50");
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET \"se\"\"en at\" = 'noon' WHERE id = 90");
    auto const batch = claim(t.store);
    CHECK(batch.rows().size() == 97);
    REQUIRE(batch.broken().size() == 3);
    CHECK(batch.size() == 100);
    CHECK(batch.broken()[0].ticket.key == 10);
    CHECK(batch.broken()[0].why.find("urgent") != std::string::npos);
    CHECK(batch.broken()[2].why.find("se\"en at") != std::string::npos);
    for (auto const& broken : batch.broken())
        CHECK(settle(t.store, broken.ticket, fila::dead_letter(broken.why)) == Ack::applied);
    auto const letters = t.store.dead_letters(10);
    REQUIRE(letters.size() == 3);
    CHECK_FALSE(letters[0].row);
    CHECK(letters[0].error.find("urgent") != std::string::npos);
}

TEST_CASE("case 33: a fence that is no integer fails its row alone") {
    Orders t;
    for (int i = 0; i < 3; ++i) t.store.enqueue({Order{}});
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET fence = 0.5 WHERE id = 2");
    auto const batch = claim(t.store);
    CHECK(batch.rows().size() == 2);
    REQUIRE(batch.broken().size() == 1);
    CHECK(batch.broken()[0].ticket.key == 2);
    CHECK(batch.broken()[0].why.find("fence") != std::string::npos);
    // It is nobody's to settle: its lease runs out, and it dies at the cap of crashes like any that cannot be run.
    CHECK(settle(t.store, batch.broken()[0].ticket, fila::retry(0s)) == Ack::lost);
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET lease_until = 0 WHERE id = 2");
    CHECK(t.store.rescue({.max_crashes = 1}).dead == 1);
}

TEST_CASE("case 53: NULL in control columns is nothing, not a crash, and hides no row") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    plain.exec(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, status TEXT, lease INT, fence INT, failures INT, crashes "
        "INT, due INT, prio INT)");
    struct Row {
        std::int64_t id = 0;
    };
    constexpr auto mapping = fila::table<Row>("t")
                                 .key("id", &Row::id)
                                 .status("status")
                                 .lease_until("lease")
                                 .fence("fence")
                                 .failures("failures")
                                 .crashes("crashes")
                                 .due_at("due", fila::Nulls::due_now)
                                 .priority("prio", fila::Order::lowest_first, fila::Nulls::as_zero);
    SqliteStore store{Config{file.path()}, mapping};
    plain.exec(
        "INSERT INTO t (id, status, prio, failures) VALUES (1, 'pending', NULL, NULL), (2, 'pending', 1, "
        "-5), (3, 'pending', -1, 99999999999), (4, NULL, 0, 0), (5, 'pending', NULL, 'x')");
    auto const batch = claim(store);
    REQUIRE(batch.tickets().size() == 4);
    CHECK(batch.tickets()[0].key == 3);
    CHECK(batch.tickets()[1].key == 1);
    CHECK(batch.tickets()[2].key == 5);
    CHECK(batch.tickets()[3].key == 2);
    CHECK(batch.histories()[1].failures == 0);
    CHECK(batch.histories()[3].failures == 0);
    CHECK(batch.histories()[0].failures == 1'000'000'000);
    CHECK(settle(store, batch.tickets()[1], fila::retry(0s)) == Ack::applied);
    CHECK(plain.text("SELECT failures FROM t WHERE id = 1") == "1");

    // Refused where the mapping does not say what NULL means.
    constexpr auto strict = fila::table<Row>("t").key("id", &Row::id).status("status").due_at("due");
    CHECK_THROWS_AS((SqliteStore{Config{file.path()}, strict}), fila::ConfigError);
}

TEST_CASE(
    "case 54: extra columns, another order and a generated column do not matter, a missing one is named") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    plain.exec(
        "CREATE TABLE t (a INT, twice INT GENERATED ALWAYS AS (n * 2) STORED, status TEXT NOT NULL DEFAULT "
        "'pending', n INT NOT NULL, z TEXT, id INTEGER PRIMARY KEY)");
    plain.exec("INSERT INTO t (n) VALUES (21)");
    struct Row {
        std::int64_t id = 0, n = 0, twice = 0;
    };
    constexpr auto mapping = fila::table<Row>("t")
                                 .key("id", &Row::id)
                                 .column("n", &Row::n)
                                 .column("twice", &Row::twice)
                                 .status("status");
    SqliteStore store{Config{file.path()}, mapping};
    auto transaction = store.begin();
    REQUIRE(transaction);
    fila::Batch<Row, std::int64_t> batch;
    (void)transaction->claim({10, {}, {}}, batch);
    REQUIRE(batch.rows().size() == 1);
    CHECK(batch.rows()[0].twice == 42);
    transaction.reset();
    plain.exec("ALTER TABLE t ADD COLUMN later TEXT");
    transaction = store.begin();
    batch.clear();
    (void)transaction->claim({10, {}, {}}, batch);
    CHECK(batch.rows().size() == 1);

    constexpr auto more = mapping.column("gone", &Row::n).fence("version").last_error("why");
    try {
        SqliteStore refused{Config{file.path()}, more};
        FAIL("three columns are missing");
    } catch (fila::ConfigError const& e) {
        std::string const what = e.what();
        CHECK(what.find("\"gone\"") != std::string::npos);
        CHECK(what.find("ALTER TABLE \"t\" ADD COLUMN \"version\"") != std::string::npos);
        CHECK(what.find("\"why\"") != std::string::npos);
    }
}

namespace {
template <class Key>
struct Keyed {
    Key key{};
};
template <class Key>
constexpr auto keyed = fila::table<Keyed<Key>>("t")
                           .key("key", &Keyed<Key>::key, fila::KeySource::row)
                           .status("status")
                           .lease_until("lease")
                           .fence("fence")
                           .due_at("due");

template <class Key>
void check_keys(std::vector<Key> const& ordered) {
    SqliteFile file;
    SqliteStore store{Config{file.path()}, keyed<Key>, fila::OnStart::migrate};
    store.enqueue(ordered | std::views::reverse |
                  std::views::transform([](Key const& k) { return Keyed<Key>{k}; }));
    PlainConnection{file.path()}.exec("UPDATE t SET due = 0");
    // One at a time: the cursor must pass over none, and meet none twice.
    std::vector<Key> met;
    fila::SqlCursor<2> cursor;
    for (std::size_t budget = 0; budget <= ordered.size(); ++budget) {
        fila::Batch<Keyed<Key>, Key> batch;
        auto const result = store.claim({1, cursor, 1min}, batch);
        if (result.supply == fila::Supply::dry) break;
        cursor = result.cursor;
        REQUIRE(batch.rows().size() == 1);
        met.push_back(batch.rows()[0].key);
        CHECK(settle(store, batch.tickets()[0], fila::release()) == Ack::applied);
    }
    CHECK(met == ordered);
}
}  // namespace

TEST_CASE("sqlite: keys are integers down to the smallest, text in any order of letters, uuids, bytes") {
    check_keys<std::int64_t>({std::numeric_limits<std::int64_t>::min(), -1, 0, 9, 10, 99, 100,
                              std::numeric_limits<std::int64_t>::max()});
    check_keys<std::string>({"", std::string{"\0", 1}, std::string{"\0a", 2}, " ", "'; DROP TABLE t; --",
                             "10", "9", "A", "B", "a", "b", "\u00e9", "\U0001F469"});
    check_keys<fila::Uuid>({fila::Uuid{}, fila::Uuid::parse("00000000-0000-0000-0000-000000000001"),
                            fila::Uuid::parse("ffffffff-ffff-ffff-ffff-ffffffffffff")});
    check_keys<fila::Bytes>({{}, {std::byte{0}}, {std::byte{0}, std::byte{1}}, {std::byte{255}}});
}

TEST_CASE("sqlite: a row whose key cannot be read is never handled, but rescued until it is dead") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    plain.exec(
        "CREATE TABLE t (key TEXT UNIQUE, status TEXT DEFAULT 'pending', lease INT, fence INT, crashes INT)");
    plain.exec(
        "INSERT INTO t (key) VALUES ('FFFFFFFF-0000-0000-0000-000000000001'), "
        "('eeeeeeee-0000-0000-0000-000000000002')");
    using Row = Keyed<fila::Uuid>;
    constexpr auto mapping = fila::table<Row>("t")
                                 .key("key", &Row::key)
                                 .status("status")
                                 .lease_until("lease")
                                 .fence("fence")
                                 .crashes("crashes");
    SqliteStore store{Config{file.path()}, mapping};
    auto const batch = claim(store);
    CHECK(batch.broken().empty());
    REQUIRE(batch.rows().size() == 1);
    CHECK(batch.rows()[0].key == fila::Uuid::parse("eeeeeeee-0000-0000-0000-000000000002"));
    CHECK(settle(store, batch.tickets()[0], fila::complete()) == Ack::applied);
    plain.exec("UPDATE t SET lease = 1");
    CHECK(store.rescue({.max_crashes = 1}).dead == 1);
    CHECK(store.counts(10).open() == 0);
}

TEST_CASE("sqlite: rows that are erased and rows that stay are settled in one transaction, or none of them") {
    SqliteFile file;
    constexpr auto jobs = fila::job_table<int>("jobs");
    SqliteStore store{Config{file.path(), {}, std::chrono::milliseconds{20}}, jobs, fila::OnStart::migrate};
    PlainConnection plain{file.path()};
    store.enqueue({{0, 1}, {0, 2}});
    auto const batch = claim(store);
    using Settlement = fila::settlement_t<decltype(store)>;
    std::vector<Settlement> const both{{batch.tickets()[0], fila::complete(), nullptr},
                                       {batch.tickets()[1], fila::retry(1h, "busy"), nullptr}};
    std::vector<Ack> acks(2, Ack::lost);
    plain.exec("BEGIN IMMEDIATE");
    CHECK_THROWS_AS(store.settle(both, acks), fila::Error);
    plain.exec("ROLLBACK");
    CHECK(store.counts(10).processing == 2);
    store.settle(both, acks);  // a repeat is safe
    CHECK(acks == std::vector<Ack>{Ack::applied, Ack::applied});
    CHECK(plain.number("SELECT count(*) FROM jobs") == 1);
}

TEST_CASE("case 48: two queues in one table see, count and bury their own rows only") {
    SqliteFile file;
    constexpr auto queue = [](std::string_view name) {
        return fila::table<Keyed<std::int64_t>>("t")
            .key("id", &Keyed<std::int64_t>::key)
            .status("status")
            .lease_until("lease")
            .fence("fence")
            .crashes("crashes")
            .fixed("queue", name);
    };
    SqliteStore mail{Config{file.path()}, queue("mail"), fila::OnStart::migrate};
    SqliteStore fax{Config{file.path()}, queue("fax's"), fila::OnStart::migrate};
    mail.enqueue({{}, {}, {}});
    fax.enqueue({{}, {}});
    CHECK(mail.counts(10).pending == 3);
    CHECK(fax.counts(10).pending == 2);
    auto const mails = claim(mail), faxes = claim(fax);
    CHECK(mails.tickets().size() == 3);
    CHECK(faxes.tickets().size() == 2);
    PlainConnection plain{file.path()};
    // The same fence, another queue: not ours.
    CHECK(settle(mail, faxes.tickets()[0], fila::complete()) == Ack::lost);
    CHECK(settle(fax, faxes.tickets()[0], fila::dead_letter("x")) == Ack::applied);
    CHECK(mail.dead_letters(10).empty());
    CHECK(mail.redrive_all() == 0);
    plain.exec("UPDATE t SET lease = 1");
    CHECK(fax.rescue({}).requeued == 1);
    CHECK(mail.counts(10).processing == 3);
    CHECK(fax.redrive_all() == 1);
    CHECK(plain.number("SELECT count(*) FROM t WHERE queue = 'mail'") == 3);
}

TEST_CASE(
    "sqlite: the user's condition is for the claim: a row that stopped matching is settled and rescued all "
    "the same") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    plain.exec(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, status TEXT NOT NULL, lease INT, fence INT, ready INT)");
    plain.exec(
        "INSERT INTO t (id, status, ready) VALUES (1, 'pending', 1), (2, 'pending', 0), (3, 'pending', 1)");
    using Row = Keyed<std::int64_t>;
    constexpr auto mapping = fila::table<Row>("t")
                                 .key("id", &Row::key)
                                 .status("status")
                                 .lease_until("lease")
                                 .fence("fence")
                                 .where("ready = 1 -- only those");
    SqliteStore store{Config{file.path()}, mapping};
    CHECK(store.counts(10).pending == 2);
    auto const batch = claim(store);
    REQUIRE(batch.tickets().size() == 2);
    plain.exec("UPDATE t SET ready = 0");
    CHECK(settle(store, batch.tickets()[0], fila::complete()) == Ack::applied);
    plain.exec("UPDATE t SET lease = 1");
    CHECK(store.rescue({}).requeued == 1);
    CHECK(claim(store).empty());
}

TEST_CASE("case 99: a limit of nothing sends nothing") {
    Orders t;
    t.store.enqueue({Order{}, Order{}});
    CHECK(claim(t.store, 0).empty());
    CHECK(t.store.rescue({.max_rows = 0}).rows() == 0);
    CHECK(t.store.dead_letters(0).empty());
    CHECK(claim(t.store, std::numeric_limits<std::size_t>::max()).size() == 2);
}

TEST_CASE("case 5: a batch comes in claim order, the next one behind it") {
    SqliteFile file;
    constexpr auto jobs = fila::job_table<std::int64_t>("jobs");
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    for (std::int64_t i = 0; i < 200; ++i) store.enqueue({{0, i}}, {.priority = -(i / 2)});
    std::vector<std::int64_t> met;
    fila::SqlCursor<3> cursor;
    for (int budget = 0; budget < 30; ++budget) {
        fila::Batch<fila::Job<std::int64_t>, std::int64_t> batch;
        auto const result = store.claim({10, cursor, 1min}, batch);
        for (auto const& row : batch.rows()) met.push_back(row.payload);
        if (result.supply == fila::Supply::dry) break;
        cursor = result.cursor;
    }
    REQUIRE(met.size() == 200);
    for (std::size_t i = 0; i < 200; ++i)
        CHECK(met[i] == static_cast<std::int64_t>(i % 2 == 0 ? 198 - i : 200 - i));
}

TEST_CASE("cases 15, 16: rows without a live owner are rescued, whoever claimed them") {
    Orders t;
    for (int i = 0; i < 5; ++i) t.store.enqueue({Order{}});
    t.plain.exec(std::string{"UPDATE "} + orders_name +
                 " SET status = 'processing', owner = 'nobody', lease_until = 1 WHERE id = 1");
    t.plain.exec(std::string{"UPDATE "} + orders_name +
                 " SET status = 'processing', lease_until = NULL WHERE id = 2");
    t.plain.exec(std::string{"UPDATE "} + orders_name +
                 " SET status = 'processing', lease_until = NULL, fence = 7 WHERE id = 3");
    auto const live = claim(t.store, 1);
    REQUIRE(live.tickets().size() == 1);
    CHECK(t.store.rescue({.max_rows = 2}).requeued == 2);
    CHECK(t.store.rescue({}).requeued == 1);
    CHECK(t.store.rescue({}).rows() == 0);
    CHECK(t.cell("crashes", 3) == "1");
    CHECK(t.cell("fence", 3) == "7");
    CHECK(t.cell("\"last error\"", 1) == "lease expired");
    CHECK(settle(t.store, live.tickets()[0], fila::complete()) == Ack::applied);
}

TEST_CASE("case 24: a row at any count of failures that also crashed is requeued or dead, never stuck") {
    Orders t;
    for (int i = 0; i < 4; ++i) t.store.enqueue({Order{}});
    t.plain.exec(std::string{"UPDATE "} + orders_name +
                 " SET status = 'processing', lease_until = 1, failures = id * 100 - 150, crashes = id - 2");
    auto const rescued = t.store.rescue({.max_crashes = 2});
    CHECK(rescued.requeued == 2);
    CHECK(rescued.dead == 2);
    CHECK(t.cell("status", 1) == "pending");
    CHECK(t.cell("status", 3) == "dead");
    CHECK(t.store.counts(10).processing == 0);
}

TEST_CASE("case 53: a counter or fence at the end of its range stops no claim, settle or rescue") {
    auto const most = GENERATE("2147483647", "9223372036854775807");
    Orders t;
    t.store.enqueue({Order{}, Order{}, Order{}});
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET failures = " + most + ", crashes = " + most +
                 ", fence = " + most + " WHERE id = 2");
    auto const batch = claim(t.store);
    REQUIRE(batch.tickets().size() == 3);
    CHECK(batch.tickets()[1].fence == 1);  // begun anew
    CHECK(settle(t.store, batch.tickets()[1], fila::retry(0s, "failed")) == Ack::applied);
    CHECK(t.cell("failures", 2) == most);
    REQUIRE(claim(t.store).size() == 1);
    t.plain.exec(std::string{"UPDATE "} + orders_name + " SET lease_until = 1");
    auto const rescued = t.store.rescue({.max_crashes = 3});
    CHECK(rescued.dead == 1);
    CHECK(rescued.requeued == 2);
    CHECK(t.cell("crashes", 2) == most);
}

TEST_CASE("sqlite: where dead is erased, so are the rows that crash for the last time") {
    SqliteFile file;
    using Row = Keyed<std::int64_t>;
    constexpr auto mapping = fila::table<Row>("t")
                                 .key("id", &Row::key)
                                 .status("status", {.dead = fila::erased})
                                 .lease_until("lease")
                                 .fence("fence")
                                 .crashes("crashes");
    SqliteStore store{Config{file.path()}, mapping, fila::OnStart::migrate};
    store.enqueue({{}, {}, {}});
    (void)claim(store);
    PlainConnection plain{file.path()};
    plain.exec("UPDATE t SET lease = 1, crashes = CASE id WHEN 1 THEN 1 ELSE 0 END");
    auto const rescued = store.rescue({.max_crashes = 2});
    CHECK(rescued.dead == 1);
    CHECK(rescued.requeued == 2);
    CHECK(plain.number("SELECT count(*) FROM t") == 2);
    auto const batch = claim(store);
    CHECK(settle(store, batch.tickets()[0], fila::dead_letter("x")) == Ack::applied);
    CHECK(plain.number("SELECT count(*) FROM t") == 1);
    CHECK(store.dead_letters(10).empty());
    CHECK(store.redrive_all() == 0);
    CHECK(store.counts(10).dead == 0);
}

TEST_CASE("case 40: redriven rows start afresh, and their fence goes on") {
    Orders t;
    t.store.enqueue({Order{}, Order{}, Order{}});
    auto const batch = claim(t.store);
    for (auto const& ticket : batch.tickets())
        CHECK(settle(t.store, ticket, fila::dead_letter("x")) == Ack::applied);
    auto const letters = t.store.dead_letters(2);
    REQUIRE(letters.size() == 2);
    CHECK(letters[0].history.failures == 1);
    CHECK(letters[0].error == "x");
    REQUIRE(letters[0].row);
    std::vector<std::int64_t> const keys{letters[0].key, 999};
    CHECK(t.store.redrive(keys) == 1);
    CHECK(t.store.redrive(keys) == 0);
    CHECK(t.store.redrive_all() == 2);
    auto const again = claim(t.store);
    REQUIRE(again.tickets().size() == 3);
    CHECK(again.histories()[0].attempt() == 1);
    CHECK(again.tickets()[0].fence == 2);
}

TEST_CASE("sqlite: verifying a table makes no file, and says what does") {
    SqliteFile file;
    std::string told;
    try {
        SqliteStore const store{Config{file.path()}, orders};
    } catch (fila::ConfigError const& e) {
        told = e.what();
    }
    CHECK(told.find("no such file") != std::string::npos);
    CHECK(told.find("fila::OnStart::migrate") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(file.path()));
}

TEST_CASE("sqlite: enqueue takes any range, and a delay makes rows due later") {
    SqliteFile file;
    constexpr auto jobs = fila::job_table<int>("jobs");
    using Job = fila::Job<int>;
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    PlainConnection plain{file.path()};
    std::istringstream numbers{"1 2 3 4 5"};
    auto single_pass = std::ranges::istream_view<int>(numbers);  // its iterators can only be moved
    static_assert(!std::copyable<std::ranges::iterator_t<decltype(single_pass)>>);
    CHECK(store.enqueue(std::move(single_pass) | std::views::transform([](int n) { return Job{0, n}; })) ==
          5);
    std::vector<Job> const many(2500);
    CHECK(store.enqueue(many) == 2500);
    CHECK(store.enqueue(std::vector<Job>{}) == 0);
    CHECK(store.enqueue({{0, 1}}, {.delay = 1h}) == 1);
    CHECK(plain.number("SELECT count(*) FROM jobs") == 2506);
    CHECK(claim(store, 5000).size() == 2505);

    using Row = Keyed<std::int64_t>;
    constexpr auto undelayed = fila::table<Row>("u").key("id", &Row::key).status("status");
    SqliteStore other{Config{file.path()}, undelayed, fila::OnStart::migrate};
    CHECK_THROWS_AS(other.enqueue({{}}, {.delay = 1s}), fila::Error);
}

TEST_CASE("sqlite: rows enqueued inside a user's own transaction exist if they commit") {
    SqliteFile file;
    constexpr auto jobs = fila::job_table<int>("jobs");
    using Job = fila::Job<int>;
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    PlainConnection mine{file.path()};
    std::vector<Job> const two(2);
    mine.exec("BEGIN");
    CHECK(store.enqueue(mine.get(), two) == 2);
    mine.exec("ROLLBACK");
    CHECK(claim(store).empty());
    mine.exec("BEGIN");
    CHECK(store.enqueue(mine.get(), two) == 2);
    mine.exec("COMMIT");
    CHECK(store.enqueue(mine.get(), two) == 2);  // no transaction open: one of its own
    CHECK(claim(store).size() == 4);
    CHECK_THROWS_AS(store.enqueue(static_cast<sqlite3*>(nullptr), two), fila::Error);
}

TEST_CASE("sqlite: enqueuing wakes who subscribed, until the subscription ends") {
    SqliteFile file;
    constexpr auto jobs = fila::job_table<int>("jobs");
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    int first = 0, second = 0;
    auto one = store.subscribe([&] { ++first; });
    {
        auto const two = store.subscribe([&] { ++second; });
        store.enqueue({{0, 1}});
        store.enqueue(std::vector<fila::Job<int>>{});
    }
    auto moved = std::move(one);
    store.enqueue({{0, 1}});
    CHECK(first == 2);
    CHECK(second == 1);
}

TEST_CASE("sqlite: any bytes come back, also a hundred megabytes of them") {
    SqliteFile file;
    auto const jobs = fila::job_table<fila::Bytes>("jobs");
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    fila_tests::odd_bytes_come_back(store, &fila::Job<fila::Bytes>::payload);
    fila_tests::come_back<decltype(store), fila::Bytes>(store, &fila::Job<fila::Bytes>::payload,
                                                        {fila_tests::many_bytes(100'000'000)});
}

TEST_CASE("sqlite: what no SQLite can hold is refused for good, and the store goes on") {
    SqliteFile file;
    auto const jobs = fila::job_table<fila::Bytes>("jobs");
    SqliteStore store{Config{file.path()}, jobs, fila::OnStart::migrate};
    std::vector<fila::Job<fila::Bytes>> rows(2);
    rows[1].payload.resize(1'000'000'001);  // SQLITE_MAX_LENGTH, as it is by default
    try {
        store.enqueue(rows);
        FAIL("more than SQLite can hold went in");
    } catch (fila::Error const& e) {
        CHECK_FALSE(e.retryable());
        CHECK(std::string{e.what()}.find("too big") != std::string::npos);
    }
    CHECK(store.counts(10).pending == 0);
    fila_tests::odd_bytes_come_back(store, &fila::Job<fila::Bytes>::payload);
}

TEST_CASE("sqlite: keys at the ends of their range, by every verb") {
    SqliteFile file;
    SqliteStore store{Config{file.path()}, fila_tests::numbered_parts("numbers"), fila::OnStart::migrate};
    fila_tests::extreme_keys_work(store);
}

TEST_CASE("case 51: sqlite: names that look like SQL, by every verb") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    plain.exec("CREATE TABLE bystander (id INTEGER)");
    SqliteStore store{Config{file.path()},
                      fila_tests::odd_mapping(fila::TableName{"main", fila_tests::odd_table}),
                      fila::OnStart::migrate};
    CHECK(store.verify().empty());
    fila_tests::odd_names_work(store, [&](std::string_view status) {
        return plain.number(R"(SELECT count(*) FROM "t""; DROP TABLE bystander; --" WHERE "SELECT" = ?1)",
                            {std::string{status}});
    });
    CHECK(plain.number("SELECT count(*) FROM bystander") == 0);
}
