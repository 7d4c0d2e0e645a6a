// SPDX-License-Identifier: MIT
// The bridge to libpqxx 6.4 … 8: the only file of the adapter that knows which version it is compiled
// against.
//
// What differs is bent straight here; what is alike everywhere (connection, nontransaction, exec of a text,
// result[row][column]) is used as it is. Neither side trusts `is_open()`, binary parameters or, in version 6,
// the reconnecting that would bring a connection back without its settings.
#pragma once

#include <fila/config.hpp>

#if !__has_include(<pqxx/pqxx>)
#error "fila::postgres needs libpqxx 6.4 or later: find_package(fila COMPONENTS postgres) finds and links it"
#endif
#include <pqxx/pqxx>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The version as one number, 604 for 6.4; undefined again at the end.
#define FILA_PQXX (PQXX_VERSION_MAJOR * 100 + PQXX_VERSION_MINOR)
#if FILA_PQXX < 604
#error "fila::postgres needs libpqxx 6.4 or later"
#endif

namespace fila::inline v1::postgres::bridge {

/// Text parameters, in the order of $1, $2, …; empty is NULL. No text may hold a NUL: libpqxx would cut it
/// there.
using Parameters = std::vector<std::optional<std::string>>;

/// Opens a connection that, once lost, stays lost.
inline std::unique_ptr<pqxx::connection> connect(std::string const& conninfo) {
    auto connection = std::make_unique<pqxx::connection>(conninfo);
#if FILA_PQXX < 700
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    connection->inhibit_reactivation(true);
#pragma GCC diagnostic pop
#endif
    return connection;
}

/// Prepares a statement now: version 6 would wait for the first call of its own kind.
inline void prepare(pqxx::connection& connection, std::string const& name, std::string const& sql) {
    connection.prepare(name, sql);
#if FILA_PQXX < 700
    connection.prepare_now(name);
#endif
}

#if FILA_PQXX < 706

namespace detail {

inline std::vector<char const*> pointers(Parameters const& parameters) {
    std::vector<char const*> out;
    out.reserve(parameters.size());
    for (auto const& p : parameters) out.push_back(p ? p->c_str() : nullptr);
    return out;
}

}  // namespace detail

/// Runs `sql` with its parameters, unprepared: one round trip.
inline pqxx::result execute(pqxx::transaction_base& tx, std::string const& sql,
                            Parameters const& parameters) {
    auto const pointers = detail::pointers(parameters);
    return tx.exec_params(sql, pqxx::prepare::make_dynamic_params(pointers));
}
/// Runs a statement that this connection has prepared.
inline pqxx::result execute_prepared(pqxx::transaction_base& tx, std::string const& name,
                                     Parameters const& parameters) {
    auto const pointers = detail::pointers(parameters);
    return tx.exec_prepared(name, pqxx::prepare::make_dynamic_params(pointers));
}

#else

namespace detail {

/// Views, not copies: `parameters` outlives the call that they are made for.
inline pqxx::params views(Parameters const& parameters) {
    pqxx::params out;
    out.reserve(parameters.size());
    for (auto const& p : parameters) {
        if (p)
            out.append(pqxx::zview{p->c_str(), p->size()});
        else
            out.append();
    }
    return out;
}

}  // namespace detail

/// Runs `sql` with its parameters, unprepared: one round trip.
inline pqxx::result execute(pqxx::transaction_base& tx, std::string const& sql,
                            Parameters const& parameters) {
#if FILA_PQXX < 710
    return tx.exec_params(sql, detail::views(parameters));
#else
    return tx.exec(sql, detail::views(parameters));
#endif
}
/// Runs a statement that this connection has prepared.
inline pqxx::result execute_prepared(pqxx::transaction_base& tx, std::string const& name,
                                     Parameters const& parameters) {
#if FILA_PQXX < 710
    return tx.exec_prepared(name, detail::views(parameters));
#else
    return tx.exec(pqxx::prepped{name}, detail::views(parameters));
#endif
}

#endif

/// A statement that this connection has prepared as SQL, which can stand in one message with more of it. Nothing, if
/// the parameters are long, or are no text in the connection's encoding, which the server says better.
inline std::optional<std::string> call(pqxx::connection& connection, std::string const& name,
                                       Parameters const& parameters) {
    constexpr std::size_t longest = 10'000;
    std::string sql = "EXECUTE " + name;
    char const* before = "(";
    for (auto const& p : parameters) {
        sql += before;
        if (sql.size() + (p ? p->size() : 0) > longest) return std::nullopt;
        try {
            sql += p ? connection.quote(*p) : "NULL";
        } catch (pqxx::argument_error const&) {
            return std::nullopt;
        }
        before = ", ";
    }
    return parameters.empty() ? sql : sql + ')';
}

/// As a size: libpqxx has changed its mind about the type.
inline std::size_t rows(pqxx::result const& result) { return static_cast<std::size_t>(result.size()); }

/// The text of one field, a view that lives as long as the result; nothing for NULL.
inline std::optional<std::string_view> text(pqxx::result const& result, std::size_t row, std::size_t column) {
    auto const field =
        result[static_cast<pqxx::result::size_type>(row)][static_cast<pqxx::row::size_type>(column)];
    if (field.is_null()) return std::nullopt;
    return std::string_view{field.c_str(), static_cast<std::size_t>(field.size())};
}

/// The five letters, or nothing where libpqxx has lost them: version 6 does for some types of its own.
inline std::string sqlstate(std::exception const& e) {
    auto const* sql = dynamic_cast<pqxx::sql_error const*>(&e);
    std::string const code = sql == nullptr ? std::string{} : std::string{sql->sqlstate()};
    if (!code.empty()) return code;
    if (dynamic_cast<pqxx::deadlock_detected const*>(&e) != nullptr) return "40P01";
    if (dynamic_cast<pqxx::serialization_failure const*>(&e) != nullptr) return "40001";
    if (dynamic_cast<pqxx::statement_completion_unknown const*>(&e) != nullptr) return "40003";
    if (dynamic_cast<pqxx::insufficient_privilege const*>(&e) != nullptr) return "42501";
    if (dynamic_cast<pqxx::too_many_connections const*>(&e) != nullptr) return "53300";
    return {};
}

}  // namespace fila::inline v1::postgres::bridge

#undef FILA_PQXX
