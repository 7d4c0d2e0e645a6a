// SPDX-License-Identifier: MIT
// What doctor() asks the catalogue and the statistics views. No query reads the table: each takes a few
// milliseconds, however large it is. For PostgreSQL 12 and later.
#pragma once

#include <string_view>

namespace fila::inline v1::postgres::detail::doctor_sql {

// Parameters by name: $1 is the qualified, quoted name of the table where a query speaks of one.

// Settings of the connection; the last one decides whether other roles' sessions can be read.
inline constexpr std::string_view session = R"(
SELECT pg_catalog.quote_ident(current_user), pg_catalog.pg_is_in_recovery(),
       pg_catalog.current_setting('transaction_read_only') = 'on',
       pg_catalog.current_setting('autovacuum') = 'on', pg_catalog.current_setting('track_counts') = 'on',
       pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'))";

// The clock as the store's own statements name it.
inline constexpr std::string_view clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

// The table, or the leaves of its partitions, those with most dead rows first: their settings and counters.
// Counters come from the statistics, and are as good as these.
inline constexpr std::string_view vacuum = R"(
WITH leaf AS (
  SELECT pg_catalog.to_regclass($1::text)::oid AS oid
  UNION SELECT relid::oid FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1::text)) WHERE isleaf
), option AS (
  SELECT leaf.oid, o.option_name AS name, o.option_value AS value
    FROM leaf JOIN pg_catalog.pg_class c USING (oid)
    CROSS JOIN LATERAL pg_catalog.pg_options_to_table(c.reloptions) AS o
), setting AS (
  SELECT c.oid, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) AS name,
         GREATEST(c.reltuples, 0)::float8 AS rows,
         COALESCE((SELECT value::bool FROM option WHERE oid = c.oid AND name = 'autovacuum_enabled'), true) AS enabled,
         COALESCE((SELECT value FROM option WHERE oid = c.oid AND name = 'autovacuum_vacuum_threshold'),
                  pg_catalog.current_setting('autovacuum_vacuum_threshold'))::float8 AS threshold,
         COALESCE((SELECT value FROM option WHERE oid = c.oid AND name = 'autovacuum_vacuum_scale_factor'),
                  pg_catalog.current_setting('autovacuum_vacuum_scale_factor'))::float8 AS scale
    FROM leaf JOIN pg_catalog.pg_class c USING (oid) JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind = 'r')
SELECT name, enabled, (threshold + scale * rows)::bigint,
       COALESCE(pg_catalog.pg_stat_get_live_tuples(oid), 0), COALESCE(pg_catalog.pg_stat_get_dead_tuples(oid), 0)
  FROM setting ORDER BY 5 DESC, 3 DESC, 1 LIMIT 10)";

// Sessions whose transaction is older than $1 and keeps a snapshot or an id: vacuum removes nothing that ended
// after it began. Only those of this database matter, and standbys that send feedback.
inline constexpr std::string_view sessions = R"(
SELECT pid, COALESCE(usename, ''), COALESCE(application_name, ''), COALESCE(state, ''),
       (extract(epoch FROM pg_catalog.clock_timestamp() - xact_start) * 1000000)::bigint
  FROM pg_catalog.pg_stat_activity
 WHERE datname = pg_catalog.current_database() AND pid <> pg_catalog.pg_backend_pid()
   AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND backend_type IS DISTINCT FROM 'autovacuum worker'
   AND xact_start < pg_catalog.clock_timestamp() - $1::bigint * interval '1 microsecond'
 ORDER BY xact_start LIMIT 3)";

inline constexpr std::string_view prepared = R"(
SELECT pg_catalog.quote_literal(gid), owner, (extract(epoch FROM pg_catalog.clock_timestamp() - prepared) * 1000000)::bigint
  FROM pg_catalog.pg_prepared_xacts
 WHERE database = pg_catalog.current_database()
   AND prepared < pg_catalog.clock_timestamp() - $1::bigint * interval '1 microsecond'
 ORDER BY prepared LIMIT 3)";

// They have no age in time; $1 counts transactions.
inline constexpr std::string_view slots = R"(
SELECT pg_catalog.quote_literal(slot_name), active, pg_catalog.age(xmin)::bigint
  FROM pg_catalog.pg_replication_slots
 WHERE xmin IS NOT NULL AND pg_catalog.age(xmin) >= $1::bigint
 ORDER BY 3 DESC LIMIT 3)";

inline constexpr std::string_view standbys = R"(
SELECT pid, COALESCE(application_name, ''), pg_catalog.age(backend_xmin)::bigint
  FROM pg_catalog.pg_stat_replication
 WHERE backend_xmin IS NOT NULL AND pg_catalog.age(backend_xmin) >= $1::bigint
 ORDER BY 3 DESC LIMIT 3)";

// Locks that claims and settles wait for: held, or waited for by somebody who makes the rest queue up.
inline constexpr std::string_view locks = R"(
SELECT COALESCE(l.pid, 0), l.mode, l.granted, COALESCE(a.usename, ''), COALESCE(a.application_name, ''),
       COALESCE(a.state, ''),
       COALESCE((extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start) * 1000000)::bigint, 0)
  FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'relation' AND l.relation = pg_catalog.to_regclass($1::text)::oid
   AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
   AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
   AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
 ORDER BY l.granted DESC, 7 DESC LIMIT 3)";

// What a CREATE INDEX CONCURRENTLY that failed leaves behind: written to, never read, and in the way of the
// name that migrate() gives.
inline constexpr std::string_view invalid_indexes = R"(
SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i'
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE i.indrelid = pg_catalog.to_regclass($1::text) AND NOT (i.indisvalid AND i.indisready)
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index p WHERE p.relid = i.indrelid)
 ORDER BY 1)";

// The words that the statistics know of column $2.
inline constexpr std::string_view words = R"(
SELECT DISTINCT word
  FROM pg_catalog.pg_stats s
  CROSS JOIN LATERAL pg_catalog.unnest(COALESCE(s.most_common_vals::text::text[], '{}')
                                       || COALESCE(s.histogram_bounds::text::text[], '{}')) AS word
  JOIN pg_catalog.pg_class c ON c.relname = s.tablename
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = s.schemaname
 WHERE c.oid = pg_catalog.to_regclass($1::text) AND s.attname = $2::text
 ORDER BY word LIMIT 100)";

}  // namespace fila::inline v1::postgres::detail::doctor_sql
