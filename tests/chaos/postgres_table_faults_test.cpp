// SPDX-License-Identifier: MIT
// PostgreSQL: what others do to the table.
#include "chaos/ordeal.hpp"
#include "chaos/postgres_bed.hpp"

using namespace fila_chaos;

namespace {

/// Longer than the store waits for a lock, and than a lease.
void lock_table(Strategy strategy) {
    PostgresBed bed;
    Ordeal ordeal{"table locked EXCLUSIVE", bed, strategy, {.options = {"lock_timeout=200"}}};
    while (ordeal.goes_on()) {
        bed.query(
            "BEGIN; LOCK TABLE {s}jobs IN EXCLUSIVE MODE; "
            "SELECT pg_sleep(" +
            std::to_string(seconds(lease) * 1.5) + "); COMMIT");
        pause(ordeal.fleet().some_ms(100, 300));
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

/// What a full disk looks like from the outside.
void disk_full(Strategy strategy) {
    PostgresBed bed;
    bed.query(
        "CREATE TABLE {s}disk (full_now boolean); INSERT INTO {s}disk VALUES (false);"
        "CREATE FUNCTION {s}write_to_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF (SELECT full_now FROM {s}disk) THEN RAISE EXCEPTION 'could not extend file: No space left on "
        "device' "
        "USING ERRCODE = '53100'; END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER write_to_disk BEFORE UPDATE OF status ON {s}jobs FOR EACH ROW WHEN (NEW.status = "
        "'done') "
        "EXECUTE FUNCTION {s}write_to_disk()");
    Ordeal ordeal{"disk full at every settle (53100)", bed, strategy};
    while (ordeal.goes_on()) {
        bed.query("UPDATE {s}disk SET full_now = true");
        pause(ordeal.fleet().some_ms(300, 1500));
        bed.query("UPDATE {s}disk SET full_now = false");
        pause(ordeal.fleet().some_ms(100, 300));
    }
    ordeal.ceased();
    auto const v = ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
    // The lease is kept while the settle is tried again: no row runs again for it.
    if (strategy == Strategy::leased) CHECK(v.extra_runs == ordeal.totals()["retried"]);
}

void alter_table(Strategy strategy) {
    PostgresBed bed;
    Ordeal ordeal{"ALTER TABLE adds and drops a column", bed, strategy};
    while (ordeal.goes_on()) {
        bed.query("ALTER TABLE {s}jobs ADD COLUMN extra integer DEFAULT 1");
        pause(ordeal.fleet().some_ms(20, 150));
        bed.query("ALTER TABLE {s}jobs DROP COLUMN extra");
        pause(ordeal.fleet().some_ms(20, 150));
    }
    ordeal.ceased();
    auto const v = ordeal.finish();
    if (strategy == Strategy::leased) {
        CHECK(ordeal.totals()["errors"] == 0);  // nobody saw it
        CHECK(v.extra_runs == ordeal.totals()["retried"]);
    }
}

}  // namespace

TEST_CASE("case 83: the table is locked for longer than the store waits, leased") {
    lock_table(Strategy::leased);
}
TEST_CASE("case 83: the table is locked for longer than the store waits, in transactions") {
    lock_table(Strategy::in_transaction);
}
TEST_CASE("case 28: every settle finds the disk full for a while, leased") { disk_full(Strategy::leased); }
TEST_CASE("case 28: every settle finds the disk full for a while, in transactions") {
    disk_full(Strategy::in_transaction);
}
TEST_CASE("case 11: a column is added and dropped under load, leased") { alter_table(Strategy::leased); }
TEST_CASE("case 11: a column is added and dropped under load, in transactions") {
    alter_table(Strategy::in_transaction);
}
