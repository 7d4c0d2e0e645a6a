// SPDX-License-Identifier: MIT
// PostgreSQL's words. They live beside the renderer, not in the adapter, so that its SQL can be printed and
// tested without libpqxx.
#pragma once

#include <fila/table/dialect.hpp>

namespace fila::inline v1 {

/// What the error says that a statement made with `or_raise` fails with, whatever the server's language.
inline constexpr char const* postgres_no_row = "fila: no row was touched";

/// For PostgreSQL 12 and later. `clock_timestamp()` and not `now()`: a claim may come late in a transaction.
/// In bounds it stands in a subquery: bare, it is volatile and no index is used.
[[nodiscard]] inline Dialect postgres_dialect() {
    Dialect d;
    d.name = "postgres";
    d.arrays = true;
    d.default_schema = "public";
    d.time_type = "timestamptz";
    d.types = {"bigint", "double precision", "boolean", "text", "bytea", "uuid", "bigint"};
    d.now = "clock_timestamp()";
    d.bound_now = "(SELECT clock_timestamp())";
    d.until = "clock_timestamp() + :lease * interval '1 microsecond'";
    d.later = "clock_timestamp() + {o}delay * interval '1 microsecond'";
    d.stale = "(SELECT clock_timestamp() - :lease * interval '1 microsecond')";
    d.unsynced = "(SELECT set_config('synchronous_commit', 'off', true)) = 'off'";
    d.pass = "pass AS MATERIALIZED (SELECT clock_timestamp() AS start{taken})";
    d.taken = ", set_config('fila.taken', :guard, true) AS mark";
    d.pass_now = "(SELECT start FROM pass)";
    d.pass_micros = "(SELECT (extract(epoch FROM start) * 1000000)::bigint FROM pass)";
    d.pass_mark = "(SELECT mark FROM pass)";
    d.pass_start = "(timestamptz 'epoch' + :start * interval '1 microsecond')";
    d.same_transaction = "current_setting('fila.taken', true) = :guard";
    d.earliest = "'-infinity'";
    d.after_due = ":after_due::timestamptz";
    d.among = "= ANY(ARRAY(#))";
    d.skip_locked = "FOR NO KEY UPDATE SKIP LOCKED";
    d.ordinal = "o.i";
    // The cast is not of a constant: the planner would else carry it out, row or no row.
    d.or_raise = std::string{"WITH touched AS (\n#)\nSELECT CASE WHEN count(*) = 0 THEN ('"} +
                 postgres_no_row + "' || count(*))::integer END FROM touched";
    // Infinities and far years are clamped: one odd time must not make a whole batch unreadable. Until PostgreSQL 14
    // these are doubles: no larger one than this fits.
    d.micros = [](std::string const& column) {
        return "CASE WHEN " + column + " IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM " + column +
               ") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END";
    };
    d.instant = [](std::string const& micros) {
        return "timestamptz 'epoch' + " + micros + " * interval '1 microsecond'";
    };
    d.ticked = [](std::string const& column) {
        return "GREATEST(clock_timestamp(), " + column + " + interval '1 microsecond')";
    };
    d.rows = [](auto const& columns) {
        std::string arrays, names;
        for (auto const& [name, type] : columns) {
            arrays += (arrays.empty() ? ":" : ", :") + name;
            names += name + ", ";
        }
        return "unnest(" + arrays + ") WITH ORDINALITY AS o(" + names + "i)";
    };
    return d;
}

}  // namespace fila::inline v1
