// SPDX-License-Identifier: MIT
// What a split table promises beyond the conformance kit: whoever writes to it by hand, and however many at once,
// each pending row waits once or is in one lease, and no lease outlives its rows.
#include "adapters/postgres/verbs.hpp"
#include "support/bad_input.hpp"
#include "support/catch.hpp"
#include "support/postgres_server.hpp"
#include <fila/postgres/postgres_store.hpp>
#include <fila/table/job_table.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace fila_test;
namespace pg = fila::postgres;
using fila::Ack;
using Keys = std::vector<std::int64_t>;

namespace {

using Job = fila::Job<std::string>;
auto jobs_of(Sandbox& box) { return fila::job_table<std::string>(fila::TableName{box.name("jobs")}); }
using Jobs = pg::PostgresStore<decltype(fila::job_table<std::string>(fila::TableName{std::string_view{}}))>;

pg::Config config(Sandbox& box, std::size_t connections = 2) {
    return {.conninfo = box.store_conninfo(), .connections = connections};
}
/// Jobs 1 … `n`, in this order.
Jobs make(Sandbox& box, int n) {
    Jobs store{config(box), jobs_of(box), fila::OnStart::migrate};
    box.run(
        "INSERT INTO {s}.jobs (payload, due_at) SELECT i, timestamptz '2000-01-01Z' + i * interval '1 "
        "second' "
        "FROM generate_series(1, " +
        std::to_string(n) + ") AS i");
    return store;
}
Keys waiting(Sandbox& box) {
    Keys keys;
    for (auto const& row : box.run("SELECT id FROM {s}.jobs_ready ORDER BY priority, due_at, id"))
        keys.push_back(row[0].as<std::int64_t>());
    return keys;
}
std::string fences(std::string const& lease) { return "(" + lease + ".lease << 20 | (p - 1))"; }
/// What is wrong with the three tables; empty: nothing.
std::string fault(Sandbox& box) {
    auto const none = [&](std::string const& from) {
        return box.get<int>("SELECT count(*) FROM " + from) == 0;
    };
    if (!none(
            "{s}.jobs_ready r LEFT JOIN {s}.jobs j ON j.id = r.id AND j.priority = r.priority AND j.due_at = "
            "r.due_at AND j.status = 'pending' WHERE j.id IS NULL"))
        return "something waits that is no pending job, or elsewhere";
    if (!none("{s}.jobs j WHERE status = 'pending' AND 1 <> (SELECT count(*) FROM {s}.jobs_ready r WHERE "
              "r.id = j.id) + "
              "(SELECT count(*) FROM {s}.jobs_leases l, unnest(keys) WITH ORDINALITY AS u(k, p) WHERE k = "
              "j.id AND "
              "j.fence < " +
              fences("l") + ")"))
        return "a pending job does not wait once, nor is in one lease";
    if (!none("{s}.jobs_leases l WHERE open <> (SELECT count(*) FROM unnest(keys) WITH ORDINALITY AS u(k, p) "
              "JOIN "
              "{s}.jobs j ON j.id = k AND j.status = 'pending' AND j.fence < " +
              fences("l") + ")"))
        return "a lease does not know how many of its jobs are open";
    return {};
}
void expire_all(Sandbox& box) {
    box.run("UPDATE {s}.jobs_leases SET lease_until = clock_timestamp() - interval '1 hour', untils = NULL");
}

}  // namespace

TEST_CASE("split: what anybody inserts, delays, moves up, finishes and deletes by hand is followed") {
    Sandbox box;
    auto store = make(box, 6);
    CHECK(waiting(box) == Keys{1, 2, 3, 4, 5, 6});
    box.run("UPDATE {s}.jobs SET due_at = 'infinity' WHERE id = 1");
    box.run("UPDATE {s}.jobs SET priority = -1 WHERE id = 5");
    box.run("UPDATE {s}.jobs SET status = 'discarded' WHERE id = 2");
    box.run("DELETE FROM {s}.jobs WHERE id = 3");
    box.run("UPDATE {s}.jobs SET payload = 'new', last_error = 'none' WHERE id = 4");
    box.run("INSERT INTO {s}.jobs (payload, status) VALUES ('old', 'dead'), ('also', 'discarded')");
    CHECK(waiting(box) == Keys{5, 4, 6, 1});
    CHECK(fault(box) == "");
    auto const c = claim(store, 10);
    CHECK(c.keys() == Keys{5, 4, 6});
    CHECK(c.batch.rows()[1].payload == "new");
    CHECK(count(settle(store, c.batch.tickets(), fila::complete()), Ack::applied) == 3);
    CHECK(store.counts(10).pending == 1);
    box.run("TRUNCATE {s}.jobs");
    CHECK(waiting(box).empty());
}

TEST_CASE("split: what is done by hand to a job that somebody has counts when it comes back") {
    Sandbox box;
    auto store = make(box, 4);
    auto const c = claim(store, 10);
    REQUIRE(c.keys() == Keys{1, 2, 3, 4});
    box.run("UPDATE {s}.jobs SET priority = 7 WHERE id = 1");
    box.run("UPDATE {s}.jobs SET status = 'discarded' WHERE id = 2");
    box.run("DELETE FROM {s}.jobs WHERE id = 3");
    CHECK(waiting(box).empty());
    CHECK(settle(store, c.batch.tickets(), fila::release()) ==
          std::vector{Ack::applied, Ack::lost, Ack::lost, Ack::applied});
    CHECK(waiting(box) == Keys{4, 1});
    // Two of its jobs went without a word: the lease ends when it is over.
    CHECK(box.get<int>("SELECT open FROM {s}.jobs_leases") == 2);
    expire_all(box);
    CHECK(store.rescue({}).rows() == 0);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.jobs_leases") == 0);
    CHECK(fault(box) == "");
}

TEST_CASE("split: a finished job that is set back by hand is not its last owner's any more") {
    Sandbox box;
    auto store = make(box, 1);
    auto const mine = claim(store, 1);
    box.run("UPDATE {s}.jobs SET status = 'dead'");
    box.run("UPDATE {s}.jobs SET status = 'pending'");
    CHECK(waiting(box) == Keys{1});
    auto const theirs = claim(store, 1);
    REQUIRE(theirs.size() == 1);
    CHECK(settle_one(store, mine.batch.tickets()[0], fila::complete()) == Ack::lost);
    CHECK(settle_one(store, theirs.batch.tickets()[0], fila::complete()) == Ack::applied);
}

TEST_CASE("split: a key that comes again while its lease goes on is not that lease's") {
    Sandbox box;
    auto store = make(box, 3);
    auto const c = claim(store, 3);
    auto const settled = [&](std::size_t i) {
        return settle_one(store, c.batch.tickets()[i], fila::complete());
    };
    CHECK(settled(0) == Ack::applied);
    box.run("INSERT INTO {s}.jobs (id, payload) VALUES (1, 'again')");
    CHECK(settled(0) == Ack::lost);
    CHECK(settled(1) == Ack::applied);
    box.run("UPDATE {s}.jobs SET id = 10 WHERE id = 3");
    CHECK(settled(2) == Ack::lost);
    CHECK(waiting(box) == Keys{10, 1});
    expire_all(box);
    CHECK(store.rescue({}).rows() == 0);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.jobs_leases") == 0);
    CHECK(fault(box) == "");
}

TEST_CASE("split: a row with a fence that no lease can have yet stops the claim, which says what mends it") {
    Sandbox box;
    auto store = make(box, 1);
    box.run("INSERT INTO {s}.jobs (payload, fence) VALUES ('from elsewhere', 500::bigint << 20)");
    auto const refused = error_of([&] { (void)claim(store, 2); });
    REQUIRE(refused);
    std::string const why = refused->what();
    CHECK(waiting(box).size() == 2);
    auto const mend =
        why.substr(why.find("SELECT setval"), why.find("   -- its") - why.find("SELECT setval"));
    box.run(mend);
    CHECK(work_off(store, 2) == 2);
}

TEST_CASE("split: migrate makes a whole of what was dropped, renamed or left behind") {
    Sandbox box;
    auto store = make(box, 3);
    box.run("UPDATE {s}.jobs SET fence = 7::bigint << 20 WHERE id = 3");
    REQUIRE(claim(store, 1).size() == 1);
    box.run("DROP TABLE {s}.jobs_leases");
    store.migrate();
    CHECK(waiting(box) == Keys{1, 2, 3});
    CHECK(claim(store, 3).batch.tickets()[0].fence >> 20 > 7);
    box.run("DROP TABLE {s}.jobs");
    store.migrate();
    CHECK(box.get<int>("SELECT count(*) FROM {s}.jobs_leases") == 0);
    CHECK(store.enqueue(std::vector<Job>{{0, "a"}}) == 1);
    CHECK(waiting(box) == Keys{1});

    box.run("ALTER TABLE {s}.jobs RENAME TO tasks");
    store.migrate();  // another jobs
    CHECK_THROWS_AS(box.run("TRUNCATE {s}.tasks"), pqxx::sql_error);
    Jobs renamed{config(box), fila::job_table<std::string>(fila::TableName{box.name("tasks")}),
                 fila::OnStart::migrate};
    CHECK(renamed.enqueue(std::vector<Job>{{0, "b"}}) == 1);
    CHECK(work_off(renamed, 5) == 2);
}

TEST_CASE("split: whoever is ahead of the triggers has no row run that is not pending") {
    Sandbox box;
    auto store = make(box, 2);
    box.run("ALTER TABLE {s}.jobs DISABLE TRIGGER fila_changed");
    box.run("UPDATE {s}.jobs SET status = 'discarded' WHERE id = 1");
    CHECK(claim(store, 5).keys() == Keys{2});
}

TEST_CASE("split: a heartbeat that waited for a settle extends what is left, and that alone") {
    Sandbox box;
    auto store = make(box, 3);
    auto const c = claim(store, 3);
    std::vector const two(c.batch.tickets().begin(), c.batch.tickets().begin() + 2);
    std::vector<Ack> acks(2, Ack::in_doubt);
    {
        Session other;
        pqxx::work settles{other.connection()};
        settles.exec(box.in("SELECT FROM {s}.jobs_leases FOR UPDATE"));
        settles.exec(box.in(
            "UPDATE {s}.jobs SET fence = fence + (1::bigint << 40), status = 'discarded' WHERE id = 1"));
        settles.exec(box.in("UPDATE {s}.jobs_leases SET open = 2"));
        std::jthread const extends{[&] { store.extend(two, 1h, acks); }};
        CHECK(eventually([&] { return box.waiting() == 1; }));
        settles.commit();
    }
    CHECK(acks == std::vector{Ack::lost, Ack::applied});
    CHECK(box.get<bool>("SELECT untils IS NOT NULL FROM {s}.jobs_leases"));
}

TEST_CASE("split: a lease ends with the last of its jobs, however they end") {
    Sandbox box;
    auto store = make(box, 5);
    auto const c = claim(store, 10);
    auto const leases = [&] { return box.get<int>("SELECT count(*) FROM {s}.jobs_leases"); };
    std::vector<fila::settlement_t<Jobs>> some{{c.batch.tickets()[0], fila::complete(), nullptr},
                                               {c.batch.tickets()[3], fila::retry(0s, "busy"), nullptr}};
    CHECK(count(settle(store, some), Ack::applied) == 2);
    CHECK(fault(box) == "");
    CHECK(settle_one(store, c.batch.tickets()[1], fila::dead_letter("no")) == Ack::applied);
    CHECK(settle_one(store, c.batch.tickets()[2], fila::release()) == Ack::applied);
    CHECK(leases() == 1);
    CHECK(settle_one(store, c.batch.tickets()[4], fila::complete()) == Ack::applied);
    CHECK(leases() == 0);
    CHECK(fault(box) == "");
    CHECK(store.dead_letters(10).size() == 1);
    CHECK(store.redrive_all() == 1);
    CHECK(work_off(store, 10) == 3);
}

TEST_CASE("split: of a lease, those jobs are rescued whose owner did not extend them") {
    Sandbox box;
    auto store = make(box, 4);
    auto const c = claim(store, 10, {}, 1us);
    auto const ticket = [&](std::size_t i) { return c.batch.tickets()[i]; };
    auto const extend = [&](std::vector<fila::ticket_t<Jobs>> const& tickets) {
        std::vector<Ack> acks(tickets.size(), Ack::in_doubt);
        store.extend(tickets, 1h, acks);
        return count(acks, Ack::applied);
    };
    auto const alike = [&] { return box.get<bool>("SELECT untils IS NULL FROM {s}.jobs_leases"); };
    CHECK(extend({ticket(3), ticket(1)}) == 2);
    CHECK_FALSE(alike());
    CHECK(store.rescue({.max_rows = 1}).requeued == 1);
    CHECK(waiting(box) == Keys{1});
    CHECK(extend({ticket(0)}) == 0);
    CHECK(store.rescue({}).requeued == 1);
    CHECK(waiting(box) == Keys{1, 3});
    CHECK(box.get<bool>("SELECT lease_until > clock_timestamp() FROM {s}.jobs_leases"));
    CHECK(fault(box) == "");
    CHECK(extend({ticket(1), ticket(3)}) == 2);
    CHECK(alike());
    CHECK(count(settle(store, std::vector{ticket(0), ticket(2)}, fila::complete()), Ack::applied) == 0);
}

TEST_CASE("split: a ticket of another job of the same lease, place or owner settles nothing") {
    Sandbox box;
    auto store = make(box, 3);
    auto const c = claim(store, 3);
    auto forged = c.batch.tickets()[0];
    forged.fence = c.batch.tickets()[1].fence;
    CHECK(settle_one(store, forged, fila::complete()) == Ack::lost);
    forged.fence = c.batch.tickets()[2].fence + 1;
    CHECK(settle_one(store, forged, fila::complete()) == Ack::lost);
    Jobs other{config(box), jobs_of(box)};
    CHECK(settle_one(other, c.batch.tickets()[0], fila::complete()) == Ack::lost);
    CHECK(count(settle(store, c.batch.tickets(), fila::complete()), Ack::applied) == 3);
}

TEST_CASE(
    "split: what a transaction gives back, delays or finishes is followed, and so is its end without a "
    "word") {
    Sandbox box;
    auto store = make(box, 4);
    {
        auto t = store.begin();
        REQUIRE(t);
        auto const c = claim(*t, 2);
        REQUIRE(c.keys() == Keys{1, 2});
        CHECK(claim(store, 1).keys() == Keys{3});
        CHECK(settle_one(*t, c.batch.tickets()[0], fila::retry(1h, "busy")) == Ack::applied);
        CHECK(settle_one(*t, c.batch.tickets()[1], fila::release()) == Ack::applied);
        t->commit();
    }
    CHECK(waiting(box) == Keys{2, 4, 1});
    {
        auto t = store.begin();
        auto const c = claim(*t, 1);
        CHECK(settle_one(*t, c.batch.tickets()[0], fila::complete()) == Ack::applied);
    }
    CHECK(waiting(box) == Keys{2, 4, 1});
    auto t = store.begin();
    auto const c = claim(*t, 1);
    Session person;
    std::jthread deletes{[&] { person.exec(box.in("DELETE FROM {s}.jobs WHERE id = 2")); }};
    REQUIRE(eventually([&] {
        return box.get<int>("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " +
                            std::to_string(person.pid())) == 1;
    }));
    CHECK(settle_one(*t, c.batch.tickets()[0], fila::dead_letter("no")) == Ack::applied);
    t->commit();
    deletes.join();
    CHECK(waiting(box) == Keys{4, 1});
    CHECK(box.get<int>("SELECT count(*) FROM {s}.jobs WHERE status = 'dead'") == 0);
    CHECK(fault(box) == "");
}

namespace {

struct Letter {
    std::string code;
    std::string text;
    std::string answer;
};
/// One of two queues in a table: text keys, rows that stay when they are done, dead ones erased.
auto letters(std::string_view name, std::string_view queue) {
    return fila::table<Letter>(fila::TableName{name})
        .key("code", &Letter::code)
        .column("text", &Letter::text)
        .output("answer", &Letter::answer)
        .status("state", {.pending = "new", .completed = "sent", .dead = fila::erased})
        .fixed("queue", queue)
        .fixed("shard", 3)
        .lease_until("until")
        .fence("fence")
        .owner("owner")
        .crashes("crashes")
        .split();
}

}  // namespace

TEST_CASE("split: two queues of a table, with keys of text and rows that stay") {
    Sandbox box;
    pg::PostgresStore mail{config(box), letters(box.name("letters"), "o'mail"), fila::OnStart::migrate};
    pg::PostgresStore fax{config(box), letters(box.name("letters"), "fax")};
    CHECK(mail.verify().empty());
    mail.enqueue(std::vector<Letter>{{"b", "1", ""}, {"\xC3\xA4", "2", ""}, {"a", "3", ""}, {"Z", "4", ""}});
    fax.enqueue(std::vector<Letter>{{"c", "5", ""}});
    auto c = claim(mail, 2);
    CHECK(c.keys() == std::vector<std::string>{"Z", "a"});  // in the order of the database
    auto const rest = claim(mail, 5, c.result.cursor);
    CHECK(rest.keys() == std::vector<std::string>{"b", "\xC3\xA4"});
    c.batch.rows()[0].answer = "yes";
    CHECK(settle(mail, {{c.batch.tickets()[0], fila::complete(), &c.batch.rows()[0]},
                        {c.batch.tickets()[1], fila::dead_letter("no"), nullptr}}) ==
          std::vector{Ack::applied, Ack::applied});
    CHECK(box.get("SELECT string_agg(code || state || answer, ' ') FROM {s}.letters WHERE state = 'sent'") ==
          "Zsentyes");
    box.run("UPDATE {s}.letters_leases SET until = clock_timestamp() - interval '1 hour'");
    box.run("UPDATE {s}.letters SET crashes = 4 WHERE code = 'b'");
    CHECK(fax.rescue({.max_crashes = 5}).rows() == 0);
    auto const rescued = mail.rescue({.max_crashes = 5});
    CHECK(rescued.dead == 1);
    CHECK(rescued.requeued == 1);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.letters_leases") == 0);
    CHECK(claim(mail, 5).keys() == std::vector<std::string>{"\xC3\xA4"});
    CHECK(claim(fax, 5).keys() == std::vector<std::string>{"c"});
    CHECK(mail.counts(10).processing == 1);
}

TEST_CASE("case 51: names that look like SQL, by every verb, of a split table") {
    Sandbox box;
    box.run("CREATE TABLE {s}.bystander(id int)");
    pg::PostgresStore store{
        config(box), fila_tests::odd_mapping(fila::TableName{box.schema(), fila_tests::odd_table}).split(),
        fila::OnStart::migrate};
    CHECK(store.verify().empty());
    fila_tests::odd_names_work(store, [&](std::string_view status) {
        return pqxx::nontransaction{box.connection()}
            .exec(box.in(R"(SELECT count(*) FROM {s}."t""; DROP TABLE bystander; --" WHERE "SELECT" = )") +
                  box.connection().quote(std::string{status}))[0][0]
            .as<std::int64_t>();
    });
    CHECK(store.counts(10).pending == 2);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.bystander") == 0);
}

TEST_CASE("split: keys at the ends of their range, by every verb") {
    Sandbox box;
    auto const parts =
        fila_tests::numbered_parts(fila::TableName{box.name("numbers")}).owner("owner").split();
    pg::PostgresStore store{config(box), parts, fila::OnStart::migrate};
    fila_tests::extreme_keys_work(store);
}

TEST_CASE("split: a table that was one is taken over with what waits in it") {
    Sandbox box;
    auto const name = box.name("jobs");
    {
        pg::PostgresStore old{config(box), fila::single_job_table<std::string>(fila::TableName{name}),
                              fila::OnStart::migrate};
        old.enqueue(std::vector<Job>{{0, "a"}, {0, "b"}});
    }
    try {
        Jobs const store{config(box), jobs_of(box)};
        FAIL("the tables beside it are missing");
    } catch (fila::ConfigError const& e) {
        std::string const text = e.what();
        for (auto const* part : {"lacks the triggers", "jobs_ready\", which a split table", "jobs_leases\""})
            CHECK(text.find(part) != std::string::npos);
    }
    Jobs store{config(box), jobs_of(box), fila::OnStart::migrate};
    CHECK(store.enqueue(std::vector<Job>{{0, "c"}}) == 1);
    store.migrate();
    CHECK(waiting(box).size() == 3);
    CHECK(store.verify().empty());
    CHECK(fault(box) == "");
    CHECK(work_off(store, 10) == 3);
}

TEST_CASE("split: verify and doctor look at the tables beside it") {
    Sandbox box;
    auto store = make(box, 2);
    auto const found = [](std::vector<fila::Finding> const& findings, std::string_view what) {
        return std::any_of(findings.begin(), findings.end(),
                           [&](auto const& f) { return f.what.find(what) != std::string::npos; });
    };
    auto const c = claim(store, 1, {}, 1us);
    CHECK(found(store.doctor({.unrescued = 0s}),
                "1 leases of \"" + box.schema() + "\".\"jobs\" are processing though"));
    box.run("UPDATE {s}.jobs_leases SET lease_until = clock_timestamp() + interval '9 years'");
    CHECK(found(store.doctor(), "processing with a lease that ends in more than"));
    box.run("UPDATE {s}.jobs SET due_at = clock_timestamp() + interval '9 years' WHERE id = 2");
    CHECK(found(store.doctor(), "pending and due in more than"));
    box.run("ALTER TABLE {s}.jobs_ready SET (autovacuum_enabled = off)");
    CHECK(found(store.doctor(), "autovacuum is off for " + box.schema() + ".jobs_ready"));
    box.run("ALTER TABLE {s}.jobs DISABLE TRIGGER fila_inserted");
    CHECK(found(store.verify(), "lacks the triggers"));
    box.run("ALTER TABLE {s}.jobs ALTER fence DROP NOT NULL");
    CHECK(found(store.verify(), "\"fence\" may be NULL: such a row of a split table"));
    CHECK_THROWS_AS((Jobs{config(box), jobs_of(box)}), fila::ConfigError);
    auto const role = box.role({"NOSUPERUSER"});
    box.run("GRANT USAGE ON SCHEMA {s} TO " + role + "; GRANT ALL ON ALL TABLES IN SCHEMA {s} TO " + role);
    box.run("ALTER TABLE {s}.jobs ENABLE ROW LEVEL SECURITY");
    Jobs seen_by_few{{.conninfo = box.store_conninfo(role)}, jobs_of(box), fila::OnStart::nothing};
    CHECK(found(seen_by_few.verify(), "row-level security hides rows"));
    CHECK_FALSE(found(store.verify(), "row-level security"));
    box.run("ALTER TABLE {s}.jobs_leases RENAME COLUMN open TO opened");
    CHECK(found(store.verify(), "has no column \"open\""));
}

TEST_CASE("case 8: a split table's settles, extends and rescues in opposite orders never deadlock") {
    Sandbox box;
    auto store = make(box, 50);
    std::vector<fila::ticket_t<Jobs>> forth;
    for (int i = 0; i < 5; ++i) {
        auto const c = claim(store, 10);
        forth.insert(forth.end(), c.batch.tickets().begin(), c.batch.tickets().end());
    }
    REQUIRE(forth.size() == 50);
    auto back = forth;
    std::reverse(back.begin(), back.end());
    std::atomic<int> errors{0};
    std::latch start{3};
    {
        auto const repeat = [&](auto verb) {
            return std::jthread{[&, verb] {
                start.arrive_and_wait();
                for (std::size_t i = 0; i < 100; ++i) {
                    try {
                        verb(i);
                    } catch (fila::Error const&) {
                        ++errors;
                    }
                }
            }};
        };
        std::jthread extends = repeat([&](std::size_t) {
            std::vector<Ack> acks(back.size());
            store.extend(back, 10min, acks);
        });
        // One of each kind: two statements in one transaction, over different leases.
        std::jthread settles = repeat([&](std::size_t i) {
            settle(store, {{back[i % 50], fila::complete(), nullptr},
                           {forth[i % 50], fila::retry(0s, "x"), nullptr}});
        });
        std::jthread rescues = repeat([&](std::size_t) { (void)store.rescue({}); });
    }
    CHECK(errors == 0);
    CHECK(fault(box) == "");
    char const* log = std::getenv("FILA_TEST_POSTGRES_LOG");
    REQUIRE(log != nullptr);
    std::ifstream file{log};
    for (std::string line; std::getline(file, line);)
        CHECK_FALSE(
            (line.starts_with(box.schema() + "|") && line.find("deadlock detected") != std::string::npos));
}

TEST_CASE(
    "split: whatever many do at once, each pending job waits once or is in one lease, and all get done") {
    Sandbox box;
    auto store = make(box, 300);
    std::atomic<int> errors{0};
    {
        std::vector<std::jthread> threads;
        for (unsigned seed = 1; seed <= 4; ++seed)
            threads.emplace_back([&, seed] {
                std::mt19937 random{seed};
                auto const below = [&](unsigned n) { return random() % n; };
                std::vector<fila::ticket_t<Jobs>> hand;
                fila::Outcome const outcomes[]{fila::complete(), fila::retry(0s, "busy"), fila::release(),
                                               fila::dead_letter("no"), fila::snooze(0s)};
                for (int i = 0; i < 150; ++i) {
                    try {
                        auto const c = claim(store, 1 + below(20));
                        hand.insert(hand.end(), c.batch.tickets().begin(), c.batch.tickets().end());
                        std::shuffle(hand.begin(), hand.end(), random);
                        std::vector<Ack> acks(hand.size() / 2);
                        store.extend(std::span{hand}.first(acks.size()), 1h, acks);
                        std::vector<fila::settlement_t<Jobs>> ends;
                        while (hand.size() > below(30)) {
                            ends.push_back({hand.back(), outcomes[below(5)], nullptr});
                            hand.pop_back();
                        }
                        settle(store, ends);
                        if (below(8) == 0) (void)store.rescue({.max_crashes = 3, .max_rows = 1 + below(20)});
                        if (below(16) == 0) store.redrive_all();
                    } catch (fila::Error const& e) {
                        errors += !e.retryable();
                    }
                }
            });
        std::mt19937 random{7};
        Session person;
        char const* const deeds[]{"INSERT INTO {s}.jobs (payload) VALUES ('by hand')",
                                  "UPDATE {s}.jobs SET due_at = due_at - interval '1 day' WHERE id = (SELECT "
                                  "min(id) FROM {s}.jobs)",
                                  "DELETE FROM {s}.jobs WHERE id = (SELECT max(id) FROM {s}.jobs_ready)",
                                  "UPDATE {s}.jobs SET status = 'pending' WHERE status = 'dead'",
                                  // In the order in which the store locks them, or the two could deadlock.
                                  "UPDATE {s}.jobs_leases SET lease_until = clock_timestamp() - interval '1 "
                                  "s', untils = NULL WHERE lease = ANY(ARRAY(SELECT lease FROM "
                                  "{s}.jobs_leases WHERE lease % 3 = 0 ORDER BY lease FOR UPDATE))"};
        for (int i = 0; i < 200; ++i) {
            try {
                person.exec(box.in(deeds[random() % 5]));
            } catch (pqxx::sql_error const&) {
                ++errors;
            }
        }
    }
    CHECK(errors == 0);
    expire_all(box);
    (void)store.rescue({.max_crashes = 1'000'000, .max_rows = 10'000});
    CHECK(fault(box) == "");
    CHECK(box.get<int>("SELECT count(*) FROM {s}.jobs_leases") == 0);
    store.redrive_all();
    box.run("UPDATE {s}.jobs SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()");
    (void)work_off(store, 50);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.jobs") == 0);
    CHECK(waiting(box).empty());
}
