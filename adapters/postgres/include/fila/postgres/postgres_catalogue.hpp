// SPDX-License-Identifier: MIT
// What pg_catalog says about a table. Read only for verify() and doctor(): no statement of the store depends on it.
#pragma once

#include <fila/table/catalogue.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/table_name.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace fila::inline v1::postgres::detail {

// Each takes the qualified, quoted name as $1. format_type() prints a type outside pg_catalog with its schema
// only if the search_path does not reach it, so it is asked for apart.
inline constexpr std::string_view columns_sql = R"(
SELECT a.attname,
       CASE WHEN n.nspname = 'pg_catalog' OR t.typtype = 'b' THEN pg_catalog.format_type(a.atttypid, a.atttypmod)
            ELSE n.nspname || '.' || t.typname END,
       a.attnotnull, a.atthasdef OR a.attidentity <> ''
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
 WHERE a.attrelid = pg_catalog.to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum)";

inline constexpr std::string_view labels_sql = R"(
SELECT a.attname, e.enumlabel
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_enum e ON e.enumtypid = a.atttypid
 WHERE a.attrelid = pg_catalog.to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum, e.enumsortorder)";

inline constexpr std::string_view unique_sql = R"(
SELECT i.indexrelid::bigint, a.attname
  FROM pg_catalog.pg_index i
  CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
 WHERE i.indrelid = pg_catalog.to_regclass($1::text) AND i.indisunique AND i.indisvalid
   AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
 ORDER BY i.indexrelid, k.place)";

inline constexpr std::string_view triggers_sql = R"(
SELECT tgname, tgtype & 16 <> 0 FROM pg_catalog.pg_trigger
 WHERE tgrelid = pg_catalog.to_regclass($1::text) AND NOT tgisinternal AND tgenabled <> 'D'
 ORDER BY tgname)";

inline constexpr std::string_view partition_sql = R"(
SELECT a.attname
  FROM pg_catalog.pg_partitioned_table p
  JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = ANY(p.partattrs::int2[])
 WHERE p.partrelid = pg_catalog.to_regclass($1::text)
 ORDER BY a.attnum)";

inline constexpr std::string_view checks_sql = R"(
SELECT pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint
 WHERE conrelid = pg_catalog.to_regclass($1::text) AND contype = 'c'
 ORDER BY conname)";

// A privilege on some columns is not lacking altogether; columns_denied_sql says on which ones it does.
inline constexpr std::string_view denied_sql = R"(
SELECT r.name
  FROM (VALUES (1, 'SELECT'), (2, 'INSERT'), (3, 'UPDATE'), (4, 'DELETE')) AS r(place, name)
 WHERE CASE WHEN r.name = 'DELETE'
            THEN NOT pg_catalog.has_table_privilege(pg_catalog.to_regclass($1::text)::oid, r.name)
            ELSE NOT pg_catalog.has_any_column_privilege(pg_catalog.to_regclass($1::text)::oid, r.name) END
 ORDER BY r.place)";

inline constexpr std::string_view columns_denied_sql = R"(
SELECT a.attname, r.name
  FROM (VALUES ('SELECT'), ('INSERT'), ('UPDATE')) AS r(name)
  JOIN pg_catalog.pg_attribute a ON a.attnum > 0 AND NOT a.attisdropped
 WHERE a.attrelid = pg_catalog.to_regclass($1::text)
   AND pg_catalog.has_any_column_privilege(a.attrelid, r.name)
   AND NOT pg_catalog.has_column_privilege(a.attrelid, a.attnum, r.name))";

// Of defaults that call nextval: identity columns ask for no privilege. CASE, since nothing else keeps the
// function from being asked of what is no sequence.
inline constexpr std::string_view sequences_denied_sql = R"(
SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
  FROM pg_catalog.pg_attrdef d
  JOIN pg_catalog.pg_depend p ON p.classid = 'pg_catalog.pg_attrdef'::regclass AND p.objid = d.oid
                             AND p.refclassid = 'pg_catalog.pg_class'::regclass
  JOIN pg_catalog.pg_class c ON c.oid = p.refobjid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE d.adrelid = pg_catalog.to_regclass($1::text)
   AND CASE WHEN c.relkind = 'S' THEN NOT pg_catalog.has_sequence_privilege(c.oid, 'USAGE, UPDATE') END
 ORDER BY d.adnum)";

inline constexpr std::string_view role_sql =
    R"(SELECT pg_catalog.quote_ident(current_user), pg_catalog.row_security_active(pg_catalog.to_regclass($1::text)::oid))";

/// `run(statement, bindings, on_row)` is a connection's. A table that is not there, or whose schema we may
/// not use, does not exist as far as we can tell.
template <class Run>
Catalogue read_catalogue(TableName const& name, Run run) {
    Catalogue found;
    std::string const qualified = name.qualified("public");
    auto const read = [&](std::string_view sql, auto on_row) {
        run(Statement{std::string{sql}, {"table"}}, Bindings{{"table", Value{qualified}}}, on_row);
    };
    auto const text = [](auto const& field) { return std::string{field.text()}; };

    read(columns_sql, [&](auto const& r) {
        found.columns.push_back({.name = text(r[0]),
                                 .type = text(r[1]),
                                 .not_null = r[2].template get<bool>(),
                                 .has_default = r[3].template get<bool>()});
    });
    found.exists = !found.columns.empty();
    if (!found.exists) return found;

    read(labels_sql, [&](auto const& r) {
        auto const column = std::ranges::find(found.columns, r[0].text(), &Catalogue::Column::name);
        if (column != found.columns.end()) column->labels.push_back(text(r[1]));
    });
    std::string index;
    read(unique_sql, [&](auto const& r) {
        if (found.unique.empty() || index != r[0].text()) found.unique.emplace_back();
        index = r[0].text();
        found.unique.back().push_back(text(r[1]));
    });
    read(triggers_sql, [&](auto const& r) {
        found.triggers.push_back(text(r[0]));
        if (r[1].template get<bool>()) found.update_triggers.push_back(text(r[0]));
    });
    read(partition_sql, [&](auto const& r) { found.partition_key.push_back(text(r[0])); });
    read(checks_sql, [&](auto const& r) { found.checks.push_back(text(r[0])); });
    read(denied_sql, [&](auto const& r) { found.denied.push_back(text(r[0])); });
    read(columns_denied_sql, [&](auto const& r) {
        auto const column = std::ranges::find(found.columns, r[0].text(), &Catalogue::Column::name);
        if (column != found.columns.end()) column->denied.push_back(text(r[1]));
    });
    read(sequences_denied_sql, [&](auto const& r) { found.denied_sequences.push_back(text(r[0])); });
    read(role_sql, [&](auto const& r) {
        found.role = text(r[0]);
        found.row_security = r[1].template get<bool>();
    });
    return found;
}

/// Whether a line of EXPLAIN reads a whole table or sorts it.
inline bool scans_or_sorts(std::string_view line) {
    auto const has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
    return has("Seq Scan on ") || has("Sort  (");
}

}  // namespace fila::inline v1::postgres::detail
