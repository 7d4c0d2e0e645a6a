// SPDX-License-Identifier: MIT
// What a PostgresStore is told about its server and its connections.
#pragma once

#include <fila/types/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

namespace fila::inline v1::postgres {

/// To whom a connection belongs between two transactions.
enum class Session : std::uint8_t {
    own,     ///< to us alone: prepared statements, settings made once, one round trip a verb
    pooled,  ///< to a pooler (PgBouncer in transaction mode): nothing outlives a transaction, `SET LOCAL`
             ///< only
};

/// Whether rows that are enqueued wake processors in other processes (NOTIFY), and this store's processors listen.
/// Rows are found by polling in any case.
enum class Notify : std::uint8_t {
    never,         ///< no NOTIFY, no listener
    after_commit,  ///< once after each `enqueue` and `redrive`, in a transaction of its own
    always,  ///< also in users' transactions that `enqueue(tx, …)` writes into: they then commit one by one
};

/// Everything has a default but the conninfo. Plain data; copy it freely.
/// Example:
///   fila::postgres::PostgresStore store{{.conninfo = "service=billing"}, payments};
struct Config {
    /// A libpq connection string or URI. Keepalives, connect_timeout and tcp_user_timeout are set where it
    /// does not say them; client_encoding is UTF8 whatever it says.
    std::string conninfo{};
    Session session = Session::own;  ///< `pooled` behind PgBouncer
    /// A running processor has one more connection then, to listen; behind a pooler there is none.
    Notify notify = Notify::after_commit;
    /// How many connections claims and transactions share. Leased needs one. Under InTransaction each
    /// transaction in flight holds one, so give it as many as there are slots. Two more are opened for
    /// settling and for keeping leases: a busy claim never starves a heartbeat.
    std::size_t connections = 1;
    /// Server-side limits of our own statements, whatever the role's are; zero is none. A statement cut off
    /// is tried again and costs the row nothing. Handlers' statements in a lent transaction have the role's
    /// limits.
    std::chrono::milliseconds statement_timeout{30'000};
    std::chrono::milliseconds lock_timeout{10'000};  ///< within statement_timeout
    /// How much longer than statement_timeout an answer may take, before its connection is given up: the
    /// server is frozen, or the network swallows what is sent. The call fails as on a cut connection; so no
    /// call takes longer than both together, connecting aside (connect_timeout), and a stop is no more late
    /// than that. Zero, or a statement_timeout of zero: calls wait for ever.
    std::chrono::milliseconds network_timeout{5'000};
    /// How long a verb waits for a connection that other threads use, before it throws a retryable Error.
    std::chrono::milliseconds patience{5'000};

    /// Zero: none.
    [[nodiscard]] std::chrono::milliseconds longest_call() const noexcept {
        auto const none = std::chrono::milliseconds::zero();
        return statement_timeout == none || network_timeout == none ? none
                                                                    : statement_timeout + network_timeout;
    }
    /// Throws ConfigError naming every field that makes no sense.
    void validate() const {
        std::string faults;
        auto const fault = [&](std::string_view text) { (faults += "\n  ") += text; };
        if (conninfo.find('\0') != std::string::npos)
            fault("conninfo has a NUL in it: libpq would cut it there");
        if (connections == 0)
            fault(
                "connections is 0: give at least 1 (settling and keeping leases have two more of their own)");
        if (connections > 1000)
            fault("connections is above 1000: a server has about 100; two per core of it serve best");
        auto const timeout = [&](std::string_view name, std::chrono::milliseconds value) {
            if (value.count() < 0 || value.count() > std::numeric_limits<int>::max())
                fault(std::string{name} + " is out of range: 0 (no limit) to 24 days");
        };
        timeout("statement_timeout", statement_timeout);
        timeout("lock_timeout", lock_timeout);
        timeout("network_timeout", network_timeout);
        timeout("patience", patience);
        if (!faults.empty()) throw ConfigError{"fila postgres: the configuration is wrong:" + faults};
    }
};

namespace detail {

/// What a conninfo should say and often does not: without it a connection whose peer vanished hangs for
/// hours. (Order matters to libpq: of two mentions the later holds. So defaults go first and what must hold
/// goes last.)
struct ConninfoDefault {
    std::string_view name;
    std::string_view value;
    char const* environment;  ///< libpq's own variable for it, which shall hold too
};
inline constexpr ConninfoDefault conninfo_defaults[]{
    {"connect_timeout", "10", "PGCONNECT_TIMEOUT"}, {"keepalives_idle", "30", nullptr},
    {"keepalives_interval", "10", nullptr},         {"keepalives_count", "3", nullptr},
    {"tcp_user_timeout", "30000", nullptr},         {"fallback_application_name", "fila", nullptr},
};

inline std::string with_defaults(std::string_view conninfo) {
    bool const uri = conninfo.starts_with("postgresql://") || conninfo.starts_with("postgres://");
    std::string_view const between = uri ? "&" : " ";
    std::string defaults;
    for (auto const& d : conninfo_defaults) {
        if (d.environment != nullptr && std::getenv(d.environment) != nullptr) continue;
        ((((defaults += defaults.empty() ? "" : between) += d.name) += '=') += d.value);
    }
    std::string const ours{"client_encoding=UTF8"};
    if (!uri) return defaults + " " + std::string{conninfo} + " " + ours;
    // The query begins at the first '?' behind the user's part, which may hold one in its password.
    auto const authority = conninfo.find("://") + 3;
    auto const end_of_user = conninfo.find_first_of("@/", authority);
    auto const from =
        end_of_user != std::string_view::npos && conninfo[end_of_user] == '@' ? end_of_user : authority;
    auto const query = conninfo.find('?', from);
    std::string out{conninfo.substr(0, query)};
    out += '?' + defaults;
    if (query != std::string_view::npos && query + 1 < conninfo.size())
        (out += '&') += conninfo.substr(query + 1);
    return out + '&' + ours;
}

}  // namespace detail

}  // namespace fila::inline v1::postgres
