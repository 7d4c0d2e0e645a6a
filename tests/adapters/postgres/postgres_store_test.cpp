// SPDX-License-Identifier: MIT
// Every verb on tables of a user's own: other names, other types, other habits than ours.
#include "adapters/postgres/tasks_table.hpp"
#include "adapters/postgres/verbs.hpp"
#include "support/bad_input.hpp"
#include "support/catch.hpp"
#include "support/postgres_server.hpp"
#include <fila/postgres/postgres_store.hpp>
#include <fila/table/job_table.hpp>

#include <array>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace fila_test;
namespace pg = fila::postgres;
using fila::Ack;

namespace {

struct Json {
    static constexpr std::string_view sql_type = "jsonb";
    static std::string const& to(std::string const& text) { return text; }
    static std::string from(std::string text) { return text; }
};

struct Letter {
    std::string name;
    std::string args;
    fila::Bytes raw;
    std::optional<fila::Instant> seen;
    std::optional<double> weight;
    bool dry = false;
    std::int16_t pages = 0;
    std::string result;
};

/// Text keys under a linguistic collation, an enum status, and every wire type.
auto letters(Sandbox& box) {
    return fila::table<Letter>(fila::TableName{box.name("Letters of \"N\"")})
        .key("name", &Letter::name)
        .column("args", &Letter::args, Json{})
        .column("raw", &Letter::raw)
        .column("seen", &Letter::seen)
        .column("weight", &Letter::weight)
        .column("dry run", &Letter::dry)
        .column("pages", &Letter::pages)
        .output("result", &Letter::result)
        .status("state", {.pending = "novo",
                          .processing = "a caminho",
                          .completed = "pago",
                          .dead = "falhou",
                          .discarded = "sem efeito",
                          .type = box.name("letter_state")})
        .lease_until("locked until")
        .fence("fence")
        .owner("locked by")
        .failures("failures")
        .crashes("crashes")
        .due_at("run_at")
        .priority("priority", fila::Order::highest_first)
        .last_error("error");
}
void create_letters(Sandbox& box) {
    box.run(R"(
        CREATE TYPE {s}.letter_state AS ENUM ('novo', 'a caminho', 'pago', 'falhou', 'sem efeito', 'devolvido');
        CREATE TABLE {s}."Letters of ""N"""(
            unrelated text DEFAULT 'x', state {s}.letter_state NOT NULL DEFAULT 'novo', error text, "locked by" text,
            fence bigint NOT NULL DEFAULT 0, name text COLLATE "en-x-icu" PRIMARY KEY, args jsonb NOT NULL DEFAULT '{}',
            raw bytea NOT NULL DEFAULT '', seen timestamptz, weight float8, "dry run" boolean NOT NULL DEFAULT false,
            pages smallint NOT NULL DEFAULT 1, doubled int GENERATED ALWAYS AS (pages * 2) STORED, result text,
            "locked until" timestamptz, failures int NOT NULL DEFAULT 0, crashes int NOT NULL DEFAULT 0,
            run_at timestamptz NOT NULL DEFAULT clock_timestamp(), priority int NOT NULL DEFAULT 0);
        CREATE INDEX ON {s}."Letters of ""N"""((-priority), run_at, name) WHERE state = 'novo';
        CREATE INDEX ON {s}."Letters of ""N"""("locked until") WHERE state = 'a caminho';)");
}
std::string const letters_sql = R"({s}."Letters of ""N""")";

}  // namespace

static_assert(fila::LeasingStore<TaskStore>);
static_assert(fila::TransactionalStore<TaskStore>);
static_assert(fila::SavepointTransaction<TaskStore::transaction_type>);
static_assert(fila::InspectableStore<TaskStore>);
static_assert(fila::EnqueuingStore<TaskStore>);

TEST_CASE("text keys, an enum status and every type: all verbs, and what is written comes back the same") {
    Sandbox box;
    create_letters(box);
    pg::PostgresStore store{config(box), letters(box)};
    fila::Bytes const raw{std::byte{0}, std::byte{0xff}, std::byte{0}};
    fila::Instant const seen{std::chrono::microseconds{1'234'567'890'123'456}};
    std::string const odd = "a,\"b\\{}\n\xC3\xA9";
    std::vector<Letter> const rows{{odd, R"({"n": 9007199254740993})", raw, seen, 0.1, true, 7, ""},
                                   {"b", "[1]", {}, std::nullopt, std::nullopt, false, -1, ""}};
    REQUIRE(store.enqueue(rows, {.priority = 3}) == 2);

    auto c = claim(store, 10);
    REQUIRE(c.batch.rows().size() == 2);
    auto const& first = c.batch.rows()[0];
    CHECK(first.name == odd);
    CHECK(first.args == R"({"n": 9007199254740993})");
    CHECK(first.raw == raw);
    CHECK(first.seen == seen);
    CHECK(first.weight == 0.1);
    CHECK((first.dry && first.pages == 7));
    auto const& second = c.batch.rows()[1];
    CHECK((!second.seen && !second.weight && second.raw.empty() && second.pages == -1));
    CHECK(box.get<int>("SELECT count(*) FROM " + letters_sql +
                       R"( WHERE state = 'a caminho' AND "locked by" <> '' AND fence = 1
        AND "locked until" BETWEEN clock_timestamp() + interval '50 s' AND clock_timestamp() + interval '1 min')") ==
          2);

    std::vector<Ack> acks(2);
    store.extend(c.batch.tickets(), std::chrono::hours{2}, acks);
    CHECK(count(acks, Ack::applied) == 2);
    CHECK(box.get<int>("SELECT count(*) FROM " + letters_sql +
                       R"( WHERE "locked until" > clock_timestamp() + interval '1 hour')") == 2);

    auto done = first;
    done.result = "two copies";
    CHECK(settle(store, {{c.batch.tickets()[0], fila::complete("devolvido"), &done},
                         {c.batch.tickets()[1], fila::retry(1h, "busy"), nullptr}}) ==
          std::vector<Ack>{Ack::applied, Ack::applied});
    CHECK(box.get("SELECT state || ' ' || result FROM " + letters_sql + " WHERE pages = 7") ==
          "devolvido two copies");
    CHECK(box.get<int>("SELECT count(*) FROM " + letters_sql +
                       " WHERE state = 'novo' AND failures = 1 AND error = 'busy' AND run_at > "
                       "clock_timestamp() + interval "
                       "'59 min'") == 1);
    CHECK(claim(store, 10).size() == 0);

    box.run("UPDATE " + letters_sql + " SET run_at = clock_timestamp() WHERE name = 'b'");
    auto again = claim(store, 10);
    REQUIRE(again.size() == 1);
    CHECK(again.batch.histories()[0].failures == 1);
    CHECK(again.batch.tickets()[0].fence == 2);
    CHECK(settle_one(store, again.batch.tickets()[0], fila::dead_letter("no such address")) == Ack::applied);
    CHECK(store.counts(10).dead == 1);
    auto const dead = store.dead_letters(10);
    REQUIRE(dead.size() == 1);
    CHECK((dead[0].key == "b" && dead[0].error == "no such address" && dead[0].row &&
           dead[0].history.failures == 2));
    CHECK(store.redrive(std::array{std::string{"b"}, std::string{"nobody"}}) == 1);
    auto const revived = claim(store, 10);
    REQUIRE(revived.size() == 1);
    CHECK(revived.batch.histories()[0].failures == 0);
    CHECK(settle_one(store, revived.batch.tickets()[0], fila::discard("sent by hand")) == Ack::applied);
    CHECK(box.get("SELECT state FROM " + letters_sql + " WHERE name = 'b'") == "sem efeito");
}

TEST_CASE("case 57: a cursor over keys under a linguistic collation skips none and repeats none") {
    Sandbox box;
    create_letters(box);
    box.run("INSERT INTO " + letters_sql +
            "(name, run_at) SELECT n, '2020-01-01Z' FROM unnest('{a,B,c,D,_,é,Z,z,ä,A}'::text[]) n");
    pg::PostgresStore store{config(box), letters(box)};
    std::string order;
    fila::cursor_t<decltype(store)> cursor{};
    for (int i = 0; i < 10; ++i) {
        auto c = claim(store, 3, cursor);
        for (auto const& row : c.batch.rows()) order += row.name;
        cursor = c.result.cursor;
        if (c.result.supply == fila::Supply::dry) break;
    }
    CHECK(order == box.get("SELECT string_agg(name, '' ORDER BY name) FROM " + letters_sql));
    CHECK(box.get<int>("SELECT max(fence) FROM " + letters_sql) == 1);
}

namespace {

struct Shipment {
    fila::Uuid id;
    std::int64_t weight = 0;
};

}  // namespace

TEST_CASE(
    "uuid keys, a smallint status, updated_at for fence, a fixed column and a condition of the user's") {
    Sandbox box;
    box.run(
        R"(CREATE TABLE {s}.shipments(id uuid PRIMARY KEY DEFAULT md5(random()::text)::uuid, weight bigint NOT NULL, state smallint NOT NULL,
                 touched timestamptz, queue text NOT NULL);
               INSERT INTO {s}.shipments(weight, state, queue) SELECT i, 0, q FROM generate_series(1, 6) i, unnest('{mail,truck}'::text[]) q)");
    auto const mapping = fila::table<Shipment>(fila::TableName{box.name("shipments")})
                             .key("id", &Shipment::id)
                             .column("weight", &Shipment::weight)
                             .status("state", {.pending = "0",
                                               .processing = "1",
                                               .completed = "2",
                                               .dead = "9",
                                               .discarded = "8",
                                               .type = "smallint"})
                             .updated_at("touched")
                             .fixed("queue", "mail")
                             .where("weight % 2 = 0 -- only the even ones");
    pg::PostgresStore store{config(box), mapping};
    auto c = claim(store, 10);
    CHECK(c.size() == 3);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.shipments WHERE state = 1 AND queue = 'truck'") == 0);
    CHECK(settle_one(store, c.batch.tickets()[0], fila::complete()) == Ack::applied);
    box.run("UPDATE {s}.shipments SET touched = touched - interval '1 us' WHERE state = 1");  // somebody
                                                                                              // else's write
    CHECK(settle_one(store, c.batch.tickets()[1], fila::complete()) == Ack::lost);
    // Rescue does not ask for the user's condition: a row that stopped matching is found, too.
    box.run(
        "UPDATE {s}.shipments SET touched = clock_timestamp() - interval '1 day', weight = 1 WHERE state = "
        "1");
    auto const rescued = store.rescue({});
    CHECK((rescued.requeued == 2 && rescued.dead == 0));
    CHECK(store.enqueue(std::vector<Shipment>{{fila::Uuid::parse("00000000-0000-0000-0000-00000000000a"), 4}},
                        {}) == 1);
    CHECK(box.get("SELECT queue FROM {s}.shipments WHERE id = '00000000-0000-0000-0000-00000000000a'") ==
          "mail");
    CHECK(claim(store, 10).size() == 1);
}

TEST_CASE(
    "case 5: rows come in the order of priority, due time and key, whatever order the table has them in") {
    Sandbox box;
    create_letters(box);
    box.run("INSERT INTO " + letters_sql +
            "(name, priority, run_at) SELECT lpad(i::text, 4, '0'), i % 5, '2020-01-01Z'::timestamptz - (i % "
            "3) * interval '1 h' "
            "FROM generate_series(1, 200) i ORDER BY random()");
    pg::PostgresStore store{config(box), letters(box)};
    std::string order;
    fila::cursor_t<decltype(store)> cursor{};
    for (int i = 0; i < 30; ++i) {
        auto c = claim(store, 10, cursor);
        for (auto const& row : c.batch.rows()) order += row.name + " ";
        cursor = c.result.cursor;
    }
    CHECK(order == box.get("SELECT string_agg(name || ' ', '' ORDER BY priority DESC, run_at, name) FROM " +
                           letters_sql));
}

TEST_CASE("never more rows than asked for, with statistics that lie and with none") {
    Sandbox box;
    create_tasks(box, 0);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    CHECK(claim(store, 2).size() == 0);  // the plan is made on an empty table
    box.run("ANALYZE {s}.tasks; INSERT INTO {s}.tasks(id) SELECT i FROM generate_series(1, 20) i");
    for (std::size_t limit : {1U, 2U, 3U}) {
        CHECK(claim(store, limit).size() == limit);
        CHECK(box.get<std::size_t>("SELECT count(*) FROM {s}.tasks WHERE status = 'processing'") == limit);
        box.run("UPDATE {s}.tasks SET status = 'pending'");
    }
    CHECK(claim(store, 0).size() == 0);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'processing'") == 0);
    auto t = store.begin();
    REQUIRE(t);
    CHECK(claim(*t, 2).size() == 2);
    Session other;
    CHECK(other.value<int>(
              box.in("SELECT count(*) FROM (SELECT 1 FROM {s}.tasks FOR UPDATE SKIP LOCKED) q")) == 18);
}

TEST_CASE("case 10: within one transaction the rows that it holds itself are not claimed again") {
    Sandbox box;
    create_tasks(box, 25);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    auto t = store.begin();
    REQUIRE(t);
    std::vector<std::int64_t> seen;
    fila::cursor_t<decltype(store)> cursor{};
    for (int i = 0; i < 10; ++i) {
        auto c = claim(*t, 10, cursor);
        for (auto key : c.keys()) seen.push_back(key);
        cursor = c.result.cursor;
        if (c.result.supply == fila::Supply::dry) break;
    }
    std::vector<std::int64_t> all(25);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i + 1);
    CHECK(seen == all);
}

TEST_CASE("case 15: staleness is the row's own: a claim by nobody that anybody knows is rescued") {
    Sandbox box;
    create_tasks(box, 3);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    box.run(
        "UPDATE {s}.tasks SET status = 'processing', until = clock_timestamp() - interval '1 ms', fence = 77 "
        "WHERE id = 1");
    box.run(
        "UPDATE {s}.tasks SET status = 'processing', until = clock_timestamp() + interval '1 h' WHERE id = "
        "2");
    CHECK(store.rescue({}).requeued == 1);
    CHECK(store.rescue({}).rows() == 0);
    auto const c = claim(store, 1);
    CHECK(c.batch.tickets()[0].fence == 78);
    CHECK(c.batch.histories()[0].crashes == 1);
}

namespace {

/// What each write of the store's commit waits for, as a trigger sees it.
template <class Mapping>
std::string synced(Sandbox& box, fila::postgres::Config const& config, Mapping const& mapping) {
    create_tasks(box, 1);
    box.run(R"(
        ALTER TABLE {s}.tasks ADD owner text;
        CREATE TABLE {s}.writes(n bigint GENERATED ALWAYS AS IDENTITY, what text);
        CREATE FUNCTION {s}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO {s}.writes(what) VALUES (NEW.status || ' ' || current_setting('synchronous_commit'));
            RETURN NEW;
        END $$;
        CREATE TRIGGER note BEFORE UPDATE ON {s}.tasks FOR EACH ROW EXECUTE FUNCTION {s}.note())");
    pg::PostgresStore store{config, mapping};
    auto const c = claim(store, 1);
    std::vector<fila::Ack> acks(1);
    store.extend(c.batch.tickets(), 1min, acks);
    settle(store, c.batch.tickets(), fila::complete());
    return box.get("SELECT string_agg(what, ', ' ORDER BY n) FROM {s}.writes");
}

}  // namespace

TEST_CASE(
    "only a claim waits for no disk, and only where an owner tells it from the one that a crash undid") {
    Sandbox box;
    auto c = config(box, 1, box.role({"SET synchronous_commit = 'on'"}));
    auto const mapping = tasks(box.name("tasks"));
    SECTION("with an owner") {
        CHECK(synced(box, c, mapping.owner("owner")) == "processing off, processing on, completed on");
    }
    SECTION("with a counted fence alone") {
        CHECK(synced(box, c, mapping) == "processing on, processing on, completed on");
    }
    SECTION("behind a pooler, where nobody hears of a crash") {
        c.session = pg::Session::pooled;
        CHECK(synced(box, c, mapping.owner("owner")) == "processing on, processing on, completed on");
    }
    SECTION("in a transaction, which is the settle's too") {
        c.connections = 2;
        CHECK(synced(box, c, mapping.owner("owner")) == "processing off, processing on, completed on");
        box.run("UPDATE {s}.tasks SET status = 'pending'; TRUNCATE {s}.writes");
        pg::PostgresStore store{c, mapping.owner("owner")};
        auto transaction = store.begin();
        REQUIRE(transaction);
        auto const taken = claim(*transaction, 1);
        settle(*transaction, taken.batch.tickets(), fila::complete());
        transaction->commit();
        CHECK(box.get("SELECT what FROM {s}.writes") == "completed on");
    }
}

TEST_CASE("case 16: a claimed row without a lease is rescued") {
    Sandbox box;
    create_tasks(box, 1);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    box.run("UPDATE {s}.tasks SET status = 'processing', until = NULL, fence = NULL");
    CHECK(store.rescue({}).requeued == 1);
    CHECK(claim(store, 1).size() == 1);
}

TEST_CASE("case 24: crashes exhausted and the process died: dead, whatever the counter says") {
    Sandbox box;
    create_tasks(box, 5);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    box.run(
        "UPDATE {s}.tasks SET status = 'processing', until = '2000-01-01Z', crashes = (ARRAY[2, 7, NULL, -3, "
        "1])[id]");
    auto const r = store.rescue({.max_crashes = 3});
    CHECK((r.dead == 2 && r.requeued == 3));
    CHECK(box.get("SELECT string_agg(id::text, ',' ORDER BY id) FROM {s}.tasks WHERE status = 'dead'") ==
          "1,2");
    CHECK(claim(store, 10).size() == 3);
}

TEST_CASE(
    "case 26: leases and due times are computed from the clock of the statement, not of the transaction") {
    Sandbox box;
    create_tasks(box, 2);
    pg::PostgresStore store{config(box, 2), tasks(box.name("tasks"))};
    auto t = store.begin();
    REQUIRE(t);
    auto c = claim(*t, 1);
    t->handle().exec("SELECT pg_sleep(0.3)");
    CHECK(settle_one(*t, c.batch.tickets()[0], fila::snooze(100ms)) == Ack::applied);
    auto const due = t->handle().exec(box.in(
        "SELECT due_at > clock_timestamp(), due_at - now() > interval '350 ms' FROM {s}.tasks WHERE id = 1"));
    CHECK(due[0][0].as<bool>());
    CHECK(due[0][1].as<bool>());
}

TEST_CASE("case 53: a counter or fence at the end of its type stops no claim, settle or rescue") {
    struct Types {
        char const *counter, *most, *fence, *last;
    };
    auto const types = GENERATE(Types{"smallint", "32767", "int", "2147483647"},
                                Types{"int", "2147483647", "bigint", "2147483647"},
                                Types{"bigint", "9223372036854775807", "bigint", "9223372036854775807"});
    Sandbox box;
    create_tasks(box, 3);
    box.run(std::string{"ALTER TABLE {s}.tasks ALTER failures TYPE "} + types.counter +
            ", ALTER crashes TYPE " + types.counter + ", ALTER fence TYPE " + types.fence);
    box.run(std::string{"UPDATE {s}.tasks SET failures = "} + types.most + ", crashes = " + types.most +
            ", fence = " + types.last + " WHERE id = 2");
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    auto const c = claim(store, 3);
    REQUIRE(c.size() == 3);
    CHECK(c.batch.tickets()[1].fence == 1);  // begun anew
    CHECK(c.batch.histories()[1].attempt() > 60'000);
    CHECK(settle_one(store, c.batch.tickets()[1], fila::retry(0s, "failed")) == Ack::applied);
    CHECK(box.get("SELECT failures FROM {s}.tasks WHERE id = 2") == types.most);
    REQUIRE(claim(store, 3).size() == 1);
    box.run("UPDATE {s}.tasks SET until = '2000-01-01Z'");
    auto const rescued = store.rescue({.max_crashes = 3});
    CHECK((rescued.dead == 1 && rescued.requeued == 2));
    CHECK(box.get("SELECT crashes FROM {s}.tasks WHERE id = 2") == types.most);
}

TEST_CASE("case 39: the first settle wins, and repeats, in any mix, change nothing") {
    Sandbox box;
    create_tasks(box, 1);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    auto const ticket = claim(store, 1).batch.tickets()[0];
    CHECK(
        settle(store, {{ticket, fila::retry(0s, "a"), nullptr}, {ticket, fila::dead_letter("b"), nullptr}}) !=
        std::vector<Ack>{Ack::applied, Ack::applied});
    CHECK(box.get<int>("SELECT failures FROM {s}.tasks") == 1);
    for (auto const& o :
         {fila::complete(), fila::retry(1s), fila::dead_letter("x"), fila::discard(), fila::release()})
        CHECK(settle_one(store, ticket, o) == Ack::lost);
    CHECK(box.get<int>("SELECT failures FROM {s}.tasks") == 1);
    auto const next = claim(store, 1);
    REQUIRE(next.size() + store.counts(10).dead == 1);
    if (next.size() == 1)
        CHECK(settle_one(store, ticket, fila::release()) == Ack::lost);  // and not the next owner's row
}

TEST_CASE("case 34: rows that disappear or change under their handler are lost, and nothing is resurrected") {
    Sandbox box;
    create_tasks(box, 4);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    auto const c = claim(store, 4);
    box.run("DELETE FROM {s}.tasks WHERE id = 1");
    box.run("UPDATE {s}.tasks SET status = 'completed' WHERE id = 2");
    box.run("UPDATE {s}.tasks SET id = 300 WHERE id = 3");
    CHECK(settle(store, c.batch.tickets(), fila::retry(0s)) ==
          std::vector<Ack>{Ack::lost, Ack::lost, Ack::lost, Ack::applied});
    CHECK(box.get("SELECT string_agg(id || status, ',' ORDER BY id) FROM {s}.tasks") ==
          "2completed,4pending,300processing");
}

TEST_CASE("case 33: rows that cannot be decoded come as broken ones and leave their neighbours alone") {
    Sandbox box;
    create_letters(box);
    box.run("INSERT INTO " + letters_sql +
            "(name, run_at, weight) SELECT lpad(i::text, 2, '0'), '2020-01-01Z', i FROM generate_series(1, "
            "10) i");
    auto const mapping = fila::table<Letter>(fila::TableName{box.name("Letters of \"N\"")})
                             .key("name", &Letter::name)
                             .column("error", &Letter::result)  // NULL, and the member is no std::optional
                             .status("state", {.pending = "novo",
                                               .processing = "a caminho",
                                               .completed = "pago",
                                               .dead = "falhou",
                                               .discarded = "sem efeito",
                                               .type = box.name("letter_state")})
                             .lease_until("locked until")
                             .fence("fence");
    box.run("UPDATE " + letters_sql + " SET error = 'x' WHERE name NOT IN ('03', '07')");
    pg::PostgresStore store{config(box), mapping};
    auto const c = claim(store, 10);
    CHECK(c.batch.rows().size() == 8);
    REQUIRE(c.batch.broken().size() == 2);
    CHECK(c.batch.broken()[0].ticket.key == "03");
    CHECK(c.batch.broken()[0].why.find("error") != std::string::npos);
    CHECK(settle_one(store, c.batch.broken()[0].ticket, fila::dead_letter("broken")) == Ack::applied);
}

TEST_CASE("case 47: a payload is not parsed, nor a number rounded") {
    Sandbox box;
    auto const jobs = fila::job_table<std::string>(fila::TableName{box.name("jobs")});
    pg::PostgresStore store{config(box), jobs, fila::OnStart::nothing};
    store.migrate();
    std::vector<fila::Job<std::string>> rows;
    for (std::string const text :
         {"{\"n\":9007199254740993}", "1e400", "{\"a\":1,\"a\":2}", "\"\\ud800\"", "", "\xF0\x9F\x98\x80"})
        rows.push_back({0, text});
    rows.push_back({0, std::string(10'000, '[')});
    REQUIRE(store.enqueue(rows, {}) == rows.size());
    box.run(
        "INSERT INTO {s}.jobs(id, payload) VALUES (-9223372036854775808, 'min'), (9223372036854775807, "
        "'max')");
    auto const c = claim(store, 100);
    REQUIRE(c.batch.rows().size() == rows.size() + 2);
    std::vector<std::string> payloads;
    for (auto const& row : c.batch.rows()) payloads.push_back(row.payload);
    for (auto const& row : rows) CHECK(std::count(payloads.begin(), payloads.end(), row.payload) == 1);
    CHECK(count(settle(store, c.batch.tickets(), fila::complete()), Ack::applied) == c.size());
    CHECK(box.get<int>("SELECT count(*) FROM {s}.jobs") == 0);
}

TEST_CASE("case 49: no time zone of any role moves a due time") {
    Sandbox box;
    create_tasks(box, 0);
    for (auto const* writer : {"UTC", "America/New_York", "Asia/Tokyo", "Asia/Kathmandu"}) {
        for (auto const* reader : {"UTC", "America/New_York", "Asia/Tokyo", "Asia/Kathmandu"}) {
            INFO(writer << " to " << reader);
            pg::PostgresStore puts{config(box, 1, box.role({std::string{"SET timezone = '"} + writer + "'"})),
                                   tasks(box.name("tasks"))};
            pg::PostgresStore takes{
                config(box, 1, box.role({std::string{"SET timezone = '"} + reader + "'"})),
                tasks(box.name("tasks"))};
            puts.enqueue(std::vector<Task>{{0, "later"}}, {.delay = std::chrono::minutes{30}});
            puts.enqueue(std::vector<Task>{{0, "now"}}, {});
            auto const c = claim(takes, 10);
            REQUIRE(c.batch.rows().size() == 1);
            CHECK(c.batch.rows()[0].what == "now");
            CHECK(settle_one(takes, c.batch.tickets()[0], fila::snooze(30min)) == Ack::applied);
            CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE due_at BETWEEN clock_timestamp() + "
                               "interval '29 min' AND "
                               "clock_timestamp() + interval '30 min'") == 2);
            box.run("TRUNCATE {s}.tasks");
        }
    }
}

TEST_CASE("case 50: infinite and far times neither break their neighbours nor stop a cursor") {
    Sandbox box;
    create_letters(box);
    box.run("INSERT INTO " + letters_sql +
            R"((name, run_at, seen) VALUES ('a', '-infinity', '-infinity'), ('b', '0001-01-01Z', 'infinity'),
            ('c', '2020-01-01Z', '294276-01-01Z'), ('d', '2020-01-02Z', NULL), ('e', 'infinity', NULL), ('f', '294276-01-01Z', NULL))");
    pg::PostgresStore store{config(box), letters(box)};
    std::string met;
    fila::cursor_t<decltype(store)> cursor{};
    for (int i = 0; i < 10; ++i) {
        auto c = claim(store, 1, cursor);
        CHECK(c.batch.broken().empty());
        for (auto const& row : c.batch.rows()) met += row.name;
        cursor = c.result.cursor;
        if (c.result.supply == fila::Supply::dry) break;
    }
    CHECK(met == "abcd");
}

TEST_CASE("case 50: infinite and far times are read where extract() makes doubles, as before PostgreSQL 14") {
    Sandbox box;
    auto micros = fila::postgres_dialect().micros("at");
    std::string const extract = "extract(epoch FROM at)";
    REQUIRE(micros.find(extract) != micros.npos);
    micros.replace(micros.find(extract), extract.size(), "date_part('epoch', at)");  // always doubles
    auto const read = [&](std::string const& at) {
        return box.get<std::int64_t>("SELECT " + micros + " FROM (VALUES (timestamptz '" + at + "')) v(at)");
    };
    CHECK(read("infinity") == 9223372036854774784);
    CHECK(read("294276-01-01Z") == 9223372036854774784);
    CHECK(read("-infinity") == std::numeric_limits<std::int64_t>::min());
    CHECK(read("0001-01-01Z") == -62135596800000000);
    CHECK(read("2026-11-30 23:59:59.123457Z") == 1796083199123457);
}

TEST_CASE("case 51: names of 63 bytes work and derived names stay apart, longer ones are refused") {
    Sandbox box;
    std::string const a(63, 'a');
    std::string const b = std::string(62, 'a') + "b";
    for (auto const& name : {a, b}) {
        auto const jobs = fila::job_table<std::string>(fila::TableName{box.name(name)});
        pg::PostgresStore store{config(box), jobs, fila::OnStart::nothing};
        store.migrate();
        CHECK(store.verify().empty());
        CHECK(store.enqueue(std::vector<fila::Job<std::string>>{{0, name}}, {}) == 1);
        auto const c = claim(store, 10);
        REQUIRE(c.batch.rows().size() == 1);
        CHECK(c.batch.rows()[0].payload == name);
    }
    CHECK(box.get<int>("SELECT count(*) FROM pg_indexes WHERE schemaname = '{s}'") == 8);
    CHECK_THROWS_AS(fila::TableName(std::string_view{std::string(64, 'a')}), std::invalid_argument);
}

TEST_CASE("case 53: NULL in control columns means zero, now or not ours, as the mapping says") {
    Sandbox box;
    box.run(
        R"(CREATE TABLE {s}.t(id bigint PRIMARY KEY, what text NOT NULL DEFAULT 'x', status text, until timestamptz, fence bigint, failures int,
                 crashes int, due_at timestamptz, priority int, queue text);
               CREATE INDEX ON {s}.t(queue, (COALESCE(priority, 0)), (COALESCE(due_at, '-infinity')), id) WHERE status = 'pending';
               INSERT INTO {s}.t(id, status, priority, queue) VALUES (1, 'pending', NULL, 'q'), (2, 'pending', -1, 'q'), (3, NULL, 0, 'q'),
                 (4, 'pending', 0, NULL))");
    auto const base = fila::table<Task>(fila::TableName{box.name("t")})
                          .key("id", &Task::id)
                          .status("status")
                          .lease_until("until")
                          .fence("fence")
                          .failures("failures")
                          .crashes("crashes")
                          .fixed("queue", "q");
    auto const refused =
        error_of([&] { pg::PostgresStore s{config(box), base.due_at("due_at").priority("priority")}; });
    REQUIRE(refused);
    CHECK(std::string{refused->what()}.find("due_at") != std::string::npos);
    pg::PostgresStore store{config(box),
                            base.due_at("due_at", fila::Nulls::due_now)
                                .priority("priority", fila::Order::lowest_first, fila::Nulls::as_zero)};
    std::vector<std::int64_t> met;
    fila::cursor_t<decltype(store)> cursor{};
    for (int i = 0; i < 5; ++i) {
        auto c = claim(store, 1, cursor);
        for (auto key : c.keys()) met.push_back(key);
        cursor = c.result.cursor;
        if (c.result.supply == fila::Supply::dry) break;
    }
    CHECK(met == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("case 54: a missing column and every other mismatch are told at once, each with what mends it") {
    Sandbox box;
    box.run(
        R"(CREATE TABLE {s}.t(id bigint PRIMARY KEY, what bytea, status smallint, until text, due_at timestamptz))");
    auto const error = error_of([&] { pg::PostgresStore s{config(box), tasks(box.name("t"))}; });
    REQUIRE(error);
    CHECK(dynamic_cast<fila::ConfigError const*>(&*error) ==
          nullptr);  // sliced by the helper; its text is what counts
    std::string const text = error->what();
    for (auto const* part :
         {"fence", "failures", "crashes", "error", "what", "status", "until", "due_at", "ALTER TABLE"}) {
        INFO(text);
        CHECK(text.find(part) != std::string::npos);
    }
    auto const none = error_of([&] { pg::PostgresStore s{config(box), tasks(box.name("nothing"))}; });
    REQUIRE(none);
    CHECK(std::string{none->what()}.find("nothing") != std::string::npos);
}

TEST_CASE("verify warns of what works but hurts: no index, a trigger") {
    Sandbox box;
    create_tasks(box, 0);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    auto const told = [&](std::string const& part) {
        bool found = false;
        for (auto const& f : store.verify())
            found = found || (!f.fatal && (f.what + f.mend).find(part) != std::string::npos);
        return found;
    };
    CHECK_FALSE(told("CREATE INDEX"));
    box.run(R"(CREATE FUNCTION {s}.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
               CREATE TRIGGER touched BEFORE UPDATE ON {s}.tasks FOR EACH ROW EXECUTE FUNCTION {s}.f();)");
    CHECK(told("touched"));
    for (auto const& row : box.run("SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = "
                                   "'{s}.tasks'::regclass AND NOT indisprimary"))
        box.exec("DROP INDEX " + row[0].as<std::string>());
    CHECK(told("CREATE INDEX"));
}

TEST_CASE("case 9: a table partitioned by its status is refused at the start") {
    Sandbox box;
    box.run(
        R"(CREATE TABLE {s}.t(id bigint, what text, status text NOT NULL, until timestamptz, fence bigint, failures int, crashes int,
                 due_at timestamptz NOT NULL, error text, PRIMARY KEY (id, status)) PARTITION BY LIST (status);
               CREATE TABLE {s}.t1 PARTITION OF {s}.t FOR VALUES IN ('pending'); CREATE TABLE {s}.t2 PARTITION OF {s}.t DEFAULT)");
    auto const error = error_of([&] { pg::PostgresStore s{config(box), tasks(box.name("t"))}; });
    REQUIRE(error);
    CHECK(std::string{error->what()}.find("partition") != std::string::npos);
}

TEST_CASE("case 9: a table partitioned by its key works") {
    Sandbox box;
    box.run(
        R"(CREATE TABLE {s}.t(id bigint PRIMARY KEY, what text NOT NULL DEFAULT 'x', status text NOT NULL DEFAULT 'pending', until timestamptz,
                 fence bigint, failures int, crashes int, due_at timestamptz NOT NULL DEFAULT '2020-01-01Z', error text) PARTITION BY HASH (id);
               CREATE TABLE {s}.t0 PARTITION OF {s}.t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
               CREATE TABLE {s}.t1 PARTITION OF {s}.t FOR VALUES WITH (MODULUS 2, REMAINDER 1);
               CREATE INDEX ON {s}.t(due_at, id) WHERE status = 'pending'; CREATE INDEX ON {s}.t(until) WHERE status = 'processing';
               INSERT INTO {s}.t(id) SELECT i FROM generate_series(1, 100) i)");
    pg::PostgresStore store{config(box), tasks(box.name("t"))};
    CHECK(work_off(store, 7) == 100);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.t WHERE status = 'completed' AND fence = 1") == 100);
}

TEST_CASE("case 12: the schema of the mapping decides, not the search_path") {
    Sandbox a;
    Sandbox b;
    create_tasks(a, 3);
    create_tasks(b, 3);
    auto const role = a.role({"SET search_path = " + b.schema()});
    pg::PostgresStore store{config(a, 1, role), tasks(a.name("tasks"))};
    CHECK(work_off(store, 10) == 3);
    CHECK(b.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'pending'") == 3);
    auto const unqualified = error_of([&] { pg::PostgresStore s{config(a, 1, role), tasks("tasks")}; });
    REQUIRE(unqualified);  // an unqualified name is public's, which has none
}

TEST_CASE("case 11: a schema change under prepared statements is not seen") {
    Sandbox box;
    create_tasks(box, 30);
    box.run("ALTER TABLE {s}.tasks ALTER COLUMN what TYPE varchar(50)");
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    auto const some = [&] {
        auto c = claim(store, 5);
        return c.batch.rows().size() == 5 &&
               count(settle(store, c.batch.tickets(), fila::complete()), Ack::applied) == 5;
    };
    CHECK(some());
    box.run("ALTER TABLE {s}.tasks ADD COLUMN extra int DEFAULT 1");
    CHECK(some());
    box.run("ALTER TABLE {s}.tasks DROP COLUMN extra");
    CHECK(some());
    box.run("ALTER TABLE {s}.tasks ALTER COLUMN what TYPE text");
    CHECK(some());
    auto t = store.begin();
    REQUIRE(t);
    box.run("ALTER TABLE {s}.tasks ALTER COLUMN failures TYPE bigint");
    CHECK(claim(*t, 5).size() == 5);
}

TEST_CASE("enqueue in the user's own transaction: committed with it, rolled back with it") {
    Sandbox box;
    create_tasks(box, 0);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    Session user;
    std::vector<Task> const rows{{0, "a"}, {0, "b"}};
    {
        pqxx::work order{user.connection()};
        CHECK(store.enqueue(order, rows) == 2);
        CHECK(claim(store, 10).size() == 0);
        order.abort();
    }
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks") == 0);
    pqxx::work order{user.connection()};
    CHECK(store.enqueue(order, rows, {.delay = 1h}) == 2);
    order.commit();
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'pending' AND due_at > "
                       "clock_timestamp() + interval '59 min'") == 2);
    CHECK(user.value<std::string>("SHOW enable_seqscan") == "on");
}

TEST_CASE("text that PostgreSQL cannot hold is refused at enqueue, and nothing is inserted") {
    Sandbox box;
    create_tasks(box, 0);
    pg::PostgresStore store{config(box), tasks(box.name("tasks"))};
    for (auto const& bad : {std::string{"a\0b", 3}, std::string{"\xff\xfe"}}) {
        auto const error = error_of([&] { store.enqueue(std::vector<Task>{{0, "good"}, {0, bad}}, {}); });
        REQUIRE(error);
        CHECK_FALSE(error->retryable());
    }
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks") == 0);
    auto const c = [&] {
        box.run("INSERT INTO {s}.tasks(id) VALUES (1)");
        return claim(store, 1);
    }();
    // What an exception said is cleaned rather than refused: the failure path must not fail.
    CHECK(settle_one(store, c.batch.tickets()[0], fila::dead_letter(std::string{"a\0b\xff", 4})) ==
          Ack::applied);
    CHECK(box.get("SELECT error FROM {s}.tasks") != "");
}

TEST_CASE("migrate from four threads at once makes the tables once") {
    Sandbox box;
    auto const jobs = fila::job_table<std::string>(fila::TableName{box.name("jobs")});
    std::atomic<int> failed{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                try {
                    pg::PostgresStore store{config(box), jobs, fila::OnStart::nothing};
                    store.migrate();
                    store.migrate();
                    failed += !store.verify().empty();
                } catch (std::exception const&) {
                    failed += 100;
                }
            });
    }
    CHECK(failed == 0);
    CHECK(box.get<int>("SELECT count(*) FROM pg_tables WHERE schemaname = '{s}'") == 3);
}

TEST_CASE("schema.sql of the adapter is what schema_sql() says") {
    auto const jobs = fila::job_table<std::string>("fila.jobs");
    std::ifstream file{FILA_POSTGRES_SCHEMA};
    REQUIRE(file);
    std::string const text{std::istreambuf_iterator<char>{file}, {}};
    CHECK(text == fila::schema_sql(jobs, fila::postgres_dialect()));
}

TEST_CASE("any bytes come back, and a hundred megabytes of them where no sanitizer slows it down") {
    Sandbox box;
    auto const jobs = fila::job_table<fila::Bytes>(fila::TableName{box.name("jobs")});
    pg::PostgresStore store{config(box), jobs, fila::OnStart::migrate};
    fila_tests::odd_bytes_come_back(store, &fila::Job<fila::Bytes>::payload);
#ifdef FILA_TEST_LARGE_PAYLOADS
    fila_tests::come_back<decltype(store), fila::Bytes>(store, &fila::Job<fila::Bytes>::payload,
                                                        {fila_tests::many_bytes(100'000'000)});
#endif
}

TEST_CASE("keys at the ends of their range, by every verb") {
    Sandbox box;
    pg::PostgresStore store{config(box), fila_tests::numbered_parts(fila::TableName{box.name("numbers")}),
                            fila::OnStart::migrate};
    fila_tests::extreme_keys_work(store);
}

TEST_CASE("case 51: names that look like SQL, by every verb") {
    Sandbox box;
    box.run("CREATE TABLE {s}.bystander(id int)");
    pg::PostgresStore store{config(box),
                            fila_tests::odd_mapping(fila::TableName{box.schema(), fila_tests::odd_table}),
                            fila::OnStart::migrate};
    CHECK(store.verify().empty());
    fila_tests::odd_names_work(store, [&](std::string_view status) {
        return pqxx::nontransaction{box.connection()}
            .exec(box.in(R"(SELECT count(*) FROM {s}."t""; DROP TABLE bystander; --" WHERE "SELECT" = )") +
                  box.connection().quote(std::string{status}))[0][0]
            .as<std::int64_t>();
    });
    CHECK(box.get<int>("SELECT count(*) FROM {s}.bystander") == 0);
}
