// SPDX-License-Identifier: MIT
// The settings under which our statements run, as SQL text. None is left to the role, the database or chance.
#pragma once

#include <fila/postgres/postgres_config.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1::postgres::detail {

using Settings = std::vector<std::pair<std::string_view, std::string>>;

/// Those that would be unkind to a handler's statements in a lent transaction. While the handler has it they
/// go back to what the role says.
inline Settings scoped_settings(Config const& config) {
    return {
        {"statement_timeout", std::to_string(config.statement_timeout.count())},
        {"lock_timeout", std::to_string(config.lock_timeout.count())},
        {"jit", "off"},
        // Only plans that walk the queue's index remain. A plan made while the table was empty, or from the
        // statistics of yesterday, would else read and sort the whole table at every claim.
        {"enable_seqscan", "off"},
        {"enable_sort", "off"},
        {"enable_bitmapscan", "off"},
        {"enable_hashjoin", "off"},
        {"enable_mergejoin", "off"},
        // And so one plan serves all parameters. Left to itself the server makes a new one for each call: it takes an
        // unknown LIMIT for a tenth of the table, and a plan for one row to be so much cheaper.
        {"plan_cache_mode", "force_generic_plan"},
    };
}

/// Those that the handler shares: how values look as text, and that the server does not cut a transaction off
/// while its handler thinks.
inline Settings shared_settings(int server_version) {
    Settings s{
        {"datestyle", "'ISO, MDY'"},
        {"bytea_output", "hex"},
        {"extra_float_digits", "3"},
        {"standard_conforming_strings", "on"},
        {"idle_in_transaction_session_timeout", "0"},
    };
    if (server_version >= 140000) s.emplace_back("idle_session_timeout", "0");
    if (server_version >= 170000) s.emplace_back("transaction_timeout", "0");
    return s;
}

inline std::string statements(std::string_view verb, Settings const& settings) {
    std::string sql;
    for (auto const& [name, value] : settings) ((((sql += verb) += name) += " = ") += value) += "; ";
    return sql;
}

/// All SQL about settings that a connection sends, made once.
struct SettingsSql {
    std::string connect;     ///< once a session (own); empty where the session is not ours
    std::string begin;       ///< opens a transaction, settings included
    std::string to_handler;  ///< before the handler's statements
    std::string to_store;    ///< before ours, after the handler's

    SettingsSql(Config const& config, int server_version) {
        auto const scoped = scoped_settings(config);
        auto const shared = shared_settings(server_version);
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED; ";
        if (config.session == Session::own) {
            connect = statements("SET ", {{"default_transaction_isolation", "'read committed'"}}) +
                      statements("SET ", shared) + statements("SET ", scoped);
        } else {
            begin += statements("SET LOCAL ", shared) + statements("SET LOCAL ", scoped);
        }
        for (auto const& [name, value] : scoped) ((to_handler += "SET LOCAL ") += name) += " TO DEFAULT; ";
        to_store = statements("SET LOCAL ", scoped);
    }
};

}  // namespace fila::inline v1::postgres::detail
