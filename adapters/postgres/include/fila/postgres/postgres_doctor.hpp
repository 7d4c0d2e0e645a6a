// SPDX-License-Identifier: MIT
// What slows or stops a queue in PostgreSQL, for doctor(): the server's side of it.
//
// | probe | finding |
// |---|---|
// | locks | a session holds, or waits for, a lock on the table that claims queue up behind |
// | statements | one that the server refuses to run, for want of a privilege or of anything else |
// | session | the server is read-only; autovacuum is off; other roles' sessions cannot be seen |
// | vacuum | the share of dead rows; settings that let them grow with the table |
// | snapshots | the oldest transactions that hold vacuum back: sessions, prepared ones, slots, standbys |
// | clock | the server's differs from this host's. The queue does not mind; who compares logs does |
// | indexes | one that is invalid |
// | words | what statistics know of the status column, see Doctor |
//
// Only catalogues and statistics are read (postgres_doctor_sql.hpp), by a role of any rights.
#pragma once

#include <fila/postgres/postgres_connection.hpp>
#include <fila/postgres/postgres_doctor_sql.hpp>
#include <fila/table/examination.hpp>
#include <fila/table/sql_codec.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace fila::inline v1::postgres::detail {

class Examiner {
public:
    Examiner(Connection& connection, Examination& seen)
        : c_{connection}, seen_{seen}, table_{seen.table.qualified("public")} {}

    void all() {
        look("the locks on " + table_, [&] { locks(); });
        if (seen_.runs && !seen_.locked) statements();
        look("the settings of the session", [&] { session(); });
        look("the statistics of " + table_, [&] { vacuum(); });
        look("the transactions of other sessions", [&] { sessions(); });
        look("prepared transactions", [&] { prepared(); });
        look("replication slots", [&] { slots(); });
        look("standbys", [&] { standbys(); });
        look("the server's clock", [&] { clock(); });
        look("the indexes of " + table_, [&] { indexes(); });
        if (!seen_.shared_table) look("the statistics of the status column", [&] { words(); });
    }

private:
    void locks() {
        ask(doctor_sql::locks, [&](Record const& r) {
            bool const held = r[2].get<bool>();
            auto const mode = r[1].get<std::string>();
            seen_.locked = true;  // to explain a claim takes the lock that it waits for, too
            auto const pid = r[0].get<std::int64_t>();
            auto const who = pid == 0 ? std::string{"a prepared transaction"} : person(r, 0, 3, 4, 5);
            seen_.add(
                who + (held ? " holds " : " waits for ") + mode + " on " + table_ + ", its transaction is " +
                    age_text(r[6].get<std::int64_t>()) + " old: claims and settles wait behind it",
                pid == 0
                    ? "SELECT gid, prepared, owner FROM pg_prepared_xacts   -- COMMIT or ROLLBACK PREPARED it"
                    : end_session(pid));
        });
    }
    /// By the message: most of the statements are refused for one reason.
    void statements() {
        std::map<std::string, std::string> refused;
        bool const told = std::any_of(seen_.findings.begin(), seen_.findings.end(),
                                      [](Finding const& f) { return f.what.starts_with("no privilege"); });
        seen_.statements.each([&](std::string_view name, Statement const& statement) {
            if (statement.text.starts_with("CREATE") || (name.find("erase") != name.npos && !seen_.erases))
                return;
            try {
                c_.rehearse(statement);
            } catch (Error const& e) {
                if (c_.lost()) throw;
                if (told && e.code() == "42501") return;
                auto& names = refused[e.what()];
                (names += names.empty() ? "" : ", ") += name;
            }
        });
        for (auto const& [why, names] : refused)
            seen_.add("the server refuses to run " + names + " on " + table_ + ": " + why,
                      "grant or mend what the message names; statements() has the SQL");
    }
    void session() {
        ask(doctor_sql::session, [&](Record const& r) {
            role_ = r[0].get<std::string>();
            if (r[1].get<bool>())
                seen_.add("the server is a standby: nothing can be claimed",
                          "connect to the primary: target_session_attrs=read-write in the conninfo");
            else if (r[2].get<bool>())
                seen_.add("sessions of " + role_ + " are read-only: nothing can be claimed",
                          "ALTER ROLE " + role_ +
                              " SET default_transaction_read_only = off   -- then start the program again");
            if (!r[3].get<bool>())
                seen_.add("autovacuum is off: dead rows stay, and claims walk over them",
                          "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()");
            if (!r[4].get<bool>())
                seen_.add("track_counts is off: autovacuum does not know of dead rows",
                          "ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf()");
            if (!r[5].get<bool>())
                seen_.add(
                    "the role " + role_ +
                        " may not read other roles' sessions: which of them hold vacuum back is not known",
                    "GRANT pg_read_all_stats TO " + role_);
        });
    }
    void vacuum() {
        ask(doctor_sql::vacuum, [&](Record const& r) {
            auto const name = r[0].get<std::string>();
            auto const begins = r[2].get<std::int64_t>();
            auto const live = r[3].get<std::int64_t>(), dead = r[4].get<std::int64_t>();
            auto const most = seen_.limits.dead_rows;
            if (!r[1].get<bool>())
                seen_.add("autovacuum is off for " + name + ": dead rows stay, and claims walk over them",
                          "ALTER TABLE " + name + " RESET (autovacuum_enabled)");
            if (begins > most)
                seen_.add("autovacuum comes to " + name + " at " + std::to_string(begins) +
                              " dead rows: every row of a queue dies, and claims walk over all that are dead",
                          "ALTER TABLE " + name +
                              " SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = " +
                              std::to_string(std::min(most, std::int64_t{10'000})) + ")");
            auto const all = static_cast<double>(live) + static_cast<double>(dead);
            if (dead > most && static_cast<double>(dead) > seen_.limits.dead_share * all)
                seen_.add(name + " has " + std::to_string(dead) + " dead rows, and " + std::to_string(live) +
                              " live ones",
                          "VACUUM " + name + "   -- if it does not help, end what holds the oldest snapshot");
        });
    }
    void sessions() {
        ask(doctor_sql::sessions, micros(seen_.limits.snapshot), [&](Record const& r) {
            seen_.add(person(r, 0, 1, 2, 3) + " has had a transaction open for " +
                          age_text(r[4].get<std::int64_t>()) + ": vacuum removes no row that died since",
                      end_session(r[0].get<std::int64_t>()));
        });
    }
    void prepared() {
        ask(doctor_sql::prepared, micros(seen_.limits.snapshot), [&](Record const& r) {
            auto const id = r[0].get<std::string>();
            seen_.add("the transaction " + id + " of " + r[1].get<std::string>() + " was prepared " +
                          age_text(r[2].get<std::int64_t>()) +
                          " ago and not ended: vacuum removes no row that died since, and its locks stay",
                      "ROLLBACK PREPARED " + id + "   -- or COMMIT PREPARED: its transaction manager knows");
        });
    }
    void slots() {
        ask(doctor_sql::slots, seen_.limits.transactions, [&](Record const& r) {
            auto const name = r[0].get<std::string>();
            bool const active = r[1].get<bool>();
            seen_.add(
                "the replication slot " + name + (active ? "" : ", which nobody uses,") +
                    " holds back vacuum by " + std::to_string(r[2].get<std::int64_t>()) + " transactions",
                active
                    ? "end the oldest query on the standby, or set hot_standby_feedback = off there"
                    : "SELECT pg_drop_replication_slot(" + name + ")   -- if its standby is gone for good");
        });
    }
    void standbys() {
        ask(doctor_sql::standbys, seen_.limits.transactions, [&](Record const& r) {
            seen_.add("a standby (pid " + std::to_string(r[0].get<std::int64_t>()) + ", " +
                          r[1].get<std::string>() + ") holds back vacuum by " +
                          std::to_string(r[2].get<std::int64_t>()) + " transactions",
                      "end the oldest query on the standby, or set hot_standby_feedback = off there");
        });
    }
    /// The middle of the quickest of three round trips, which the answer cannot be further from than half.
    void clock() {
        using std::chrono::steady_clock;
        auto const here = [] {
            auto const since = std::chrono::system_clock::now().time_since_epoch();
            return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
        };
        std::int64_t difference = 0, best = INT64_MAX;
        for (int i = 0; i < 3; ++i) {
            auto const sent = here();
            ask(doctor_sql::clock, [&](Record const& r) {
                auto const took = std::max<std::int64_t>(0, here() - sent);
                if (took >= best) return;
                best = took;
                difference = r[0].get<std::int64_t>() - sent - took / 2;
            });
        }
        auto const apart = std::abs(difference) - best / 2;
        if (apart <= fila::detail::to_micros(seen_.limits.clock_difference)) return;
        seen_.add("the server's clock is " + age_text(apart) + (difference > 0 ? " ahead of" : " behind") +
                      " this host's: leases and due times are the server's, logs of this host are not",
                  "run NTP on both hosts (chronyc tracking, timedatectl)");
    }
    void indexes() {
        ask(doctor_sql::invalid_indexes, [&](Record const& r) {
            auto const name = r[0].get<std::string>();
            seen_.add(
                "the index " + name + " is invalid: a CREATE INDEX CONCURRENTLY failed; it serves no query",
                "DROP INDEX " + name + "   -- then create what verify() asks for");
        });
    }
    void words() {
        c_.run({std::string{doctor_sql::words}, {"table", "status"}},
               {{"table", table_}, {"status", std::string{seen_.status}}},
               [&](Record const& r) { seen_.words.push_back(r[0].get<std::string>()); });
    }

    [[nodiscard]] static std::string person(Record const& r, std::size_t pid, std::size_t user,
                                            std::size_t program, std::size_t state) {
        auto text = "session " + r[pid].get<std::string>();
        auto const add = [&](std::string_view before, std::string_view what) {
            if (!what.empty()) ((text += before) += what);
        };
        add(" of ", r[user].text());
        add(", application ", r[program].text());
        add(", ", r[state].text());
        return text;
    }
    [[nodiscard]] static std::string end_session(std::int64_t pid) {
        return "SELECT pg_terminate_backend(" + std::to_string(pid) +
               ")   -- and have its program end transactions, or set idle_in_transaction_session_timeout";
    }
    [[nodiscard]] static std::int64_t micros(Duration d) { return fila::detail::to_micros(d); }
    [[nodiscard]] static std::string age_text(std::int64_t micros) { return fila::detail::age_text(micros); }

    template <class Probe>
    void look(std::string const& at, Probe probe) {
        seen_.look(c_, at, probe);
    }
    template <class OnRow>
    void ask(std::string_view sql, OnRow on_row) {
        ask(sql, Value{table_}, on_row);
    }
    template <class OnRow>
    void ask(std::string_view sql, Value value, OnRow on_row) {
        Statement statement{std::string{sql}};
        if (sql.find("$1") != sql.npos) statement.parameters.emplace_back("value");
        c_.run(statement, {{"value", std::move(value)}}, on_row);
    }

    Connection& c_;
    Examination& seen_;
    std::string table_;
    std::string role_;
};

}  // namespace fila::inline v1::postgres::detail
