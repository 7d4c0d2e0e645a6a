// SPDX-License-Identifier: MIT
// A test's own corner of a PostgreSQL server: a schema that is dropped at the end, roles likewise, and ways
// to wait.
//
// The server is named by FILA_TEST_POSTGRES (postgres_server.sh starts one). Without it the tests fail, since
// a skipped test proves nothing.
#pragma once

#include <pqxx/pqxx>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fila_test {

inline std::string conninfo() {
    char const* named = std::getenv("FILA_TEST_POSTGRES");
    if (named == nullptr || *named == '\0')
        throw std::runtime_error{
            "FILA_TEST_POSTGRES is not set: run these tests by  tests/support/postgres_server.sh run "
            "<command>"};
    return named;
}

/// Whether `done` came true within the budget: for what another session does, which cannot be waited for
/// otherwise. The pause only saves processor time: what decides is what `done` sees.
template <class Predicate>
bool eventually(Predicate done, std::chrono::milliseconds budget = std::chrono::seconds{30}) {
    auto const end = std::chrono::steady_clock::now() + budget;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return true;
}

/// One more session on the server, to look, to lock and to disturb.
class Session {
public:
    explicit Session(std::string const& to = conninfo()) : connection_{to} {}

    pqxx::result exec(std::string const& sql) { return pqxx::nontransaction{connection_}.exec(sql); }
    template <class T = std::string>
    T value(std::string const& sql) {
        return exec(sql)[0][0].template as<T>();
    }
    pqxx::connection& connection() { return connection_; }
    int pid() { return connection_.backendpid(); }

private:
    pqxx::connection connection_;
};

/// A schema of its own for each test, so that tests may run side by side on one server.
class Sandbox : public Session {
public:
    Sandbox() : schema_{unique("s")} { exec("CREATE SCHEMA " + schema_); }
    Sandbox(Sandbox const&) = delete;
    Sandbox& operator=(Sandbox const&) = delete;
    ~Sandbox() {
        try {
            exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '" +
                 schema_ + "'");
            exec("SET client_min_messages = warning; DROP SCHEMA " + schema_ + " CASCADE");
            for (auto const& role : roles_) exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
        } catch (std::exception const&) {
            // The server goes away with its directory; what is left here hurts nobody.
        }
    }

    std::string const& schema() const { return schema_; }
    /// "schema.table", living as long as the sandbox, as mappings need it.
    std::string_view name(std::string const& table) { return names_.emplace_back(schema_ + "." + table); }
    /// `sql` with every `{s}` replaced by the schema.
    std::string in(std::string sql) const {
        for (auto at = sql.find("{s}"); at != std::string::npos; at = sql.find("{s}"))
            sql.replace(at, 3, schema_);
        return sql;
    }
    pqxx::result run(std::string const& sql) { return exec(in(sql)); }
    template <class T = std::string>
    T get(std::string const& sql) {
        return value<T>(in(sql));
    }

    /// A role that owns nothing but may use this schema; `settings` is SQL of ALTER ROLE, one each.
    std::string role(std::vector<std::string> const& settings = {}) {
        auto const name = roles_.emplace_back(unique("r"));
        exec("CREATE ROLE " + name + " LOGIN SUPERUSER");
        for (auto const& s : settings) exec("ALTER ROLE " + name + " " + s);
        return name;
    }
    /// Sessions of the store under test: named after the sandbox, so that they can be found and killed.
    std::string store_conninfo(std::string const& role = {}) const {
        return conninfo() + " application_name=" + schema_ + (role.empty() ? "" : " user=" + role);
    }
    int sessions() {
        return value<int>("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + schema_ + "'");
    }
    int kill_sessions() {
        auto const killed = exec(
            "SELECT count(pg_terminate_backend(pid)), COALESCE(string_agg(pid::text, ','), '') FROM "
            "pg_stat_activity WHERE application_name = '" +
            schema_ + "'");
        // Before PostgreSQL 14 pg_terminate_backend() cannot be told to wait.
        if (!eventually([&] {
                return value<int>("SELECT count(*) FROM pg_stat_activity WHERE pid = ANY('{" +
                                  killed[0][1].as<std::string>() + "}')") == 0;
            }))
            throw std::runtime_error{"sessions that were terminated are still there"};
        return killed[0][0].as<int>();
    }
    /// How many stay so: the server takes a moment to end a session that was given up.
    int idle_in_transaction() {
        int n = 0;
        (void)eventually(
            [&] {
                n = value<int>("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + schema_ +
                               "' AND state LIKE 'idle in transaction%'");
                return n == 0;
            },
            std::chrono::seconds{5});
        return n;
    }
    /// How many of the store's sessions wait for a lock just now.
    int waiting() {
        return value<int>("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + schema_ +
                          "' AND wait_event_type = 'Lock'");
    }

private:
    static std::string unique(std::string const& prefix) {
        static std::atomic<int> counter{0};
        static std::string const process =
            std::to_string(std::chrono::system_clock::now().time_since_epoch().count() % 1'000'000'000);
        return "fila_" + prefix + process + "_" + std::to_string(++counter);
    }

    std::string schema_;
    std::deque<std::string> names_;
    std::vector<std::string> roles_;
};

}  // namespace fila_test
