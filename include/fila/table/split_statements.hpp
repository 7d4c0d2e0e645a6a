// SPDX-License-Identifier: MIT
// The statements that differ where a table is split (`.split()`, PostgreSQL): to be read beside statements.hpp.
//
// A row of the table itself is written when it is settled, and not before: its key lies in one of two narrow
// tables. In `ready` while it waits, in claim order; in `leases` while somebody has it, one row a claim, with the
// keys of all that the claim took. Claiming 100 rows of any width so deletes 100 narrow rows and inserts one,
// where marking them would copy each, and write its entries in all indexes (1.5 times as many rows a second with
// payloads of 120 bytes, 1.7 times with 1 KB). After graphile-worker's and pg-boss's advice to keep what is hot
// narrow; the batch as one row is our own.
//
// A fence is the number of the lease, then the place in its keys, so that claim and settle need no search. Who
// settles locks the lease first: rescue passes over what is locked. The fence column of the table itself holds
// the last one that was settled or rescued; what is not larger may not settle any more.
//
// Whoever else writes to the table needs to know none of this: triggers keep `ready` in step (split_schema.hpp).
// What we send ourselves is left to them, too, but for claims and for the happy end of a leased row.
#pragma once

#include <string_view>

namespace fila::inline v1::detail::sql::split {

inline constexpr std::string_view trigger_names[]{"fila_inserted", "fila_deleted", "fila_truncated",
                                                  "fila_renewed", "fila_changed"};
// Larger than that of any lease there is, and smaller than those to come.
inline constexpr std::string_view fence_of_all =
    "COALESCE((SELECT max(lease) FROM {leases}), 0) << {places} | {last_place}";

// A fence that is ahead of the leases (rows from elsewhere, with their fences) could never be settled: better no claim.
inline constexpr std::string_view behind =
    "fila: the fence of a row is ahead of all leases: SELECT setval(pg_get_serial_sequence({leases_text}, "
    "'lease'), (SELECT "
    "max({fence}) >> {places} FROM {table}))   -- its fence: ";

// As in one table: the first claim of a pass reads the clock, and none waits for the disk. No more rows than a fence has
// places for. By ctid, since nobody updates a row of `ready`. The rows come in the order of the keys: PostgreSQL knows that
// ordinals are in order, and sorts nothing. What has no row in the table any more was deleted past the triggers.
inline constexpr std::string_view claim = R"(WITH {pass}next AS MATERIALIZED (
  SELECT ctid AS fila_at, {key} AS fila_key FROM {ready}
   WHERE {unsynced?{unsynced}}{!unsynced?true}{fixed}{due_at?
     AND {due} <= {start}}{after?
     AND ({order}) > ({cursor})}
   ORDER BY {order} LIMIT LEAST(:n, {last_place}) FOR UPDATE SKIP LOCKED), taken AS (
  DELETE FROM {ready} WHERE ctid = ANY(ARRAY(SELECT fila_at FROM next))), lease AS (
  INSERT INTO {leases} ({lease_until}, {owner}, open, keys{fixed_columns})
  SELECT {until}, :owner, count(*), array_agg(fila_key){fixed_values} FROM next
  HAVING count(*) > 0 RETURNING lease, keys)
SELECT {returning} FROM (
  SELECT t.*, fila_place, CASE WHEN t.{fence} < (SELECT lease FROM lease) << {places}
              THEN (SELECT lease FROM lease) << {places} | (fila_place - 1)
              ELSE ({behind} || t.{fence})::bigint END AS fila_fence
    FROM unnest((SELECT keys FROM lease)) WITH ORDINALITY AS placed(fila_key, fila_place)
    CROSS JOIN LATERAL (SELECT * FROM {table} AS t WHERE t.{key} = fila_key AND t.{status} = {pending} OFFSET 0) AS t) AS claimed
 ORDER BY fila_place)";

// Both rows are locked: who deletes the row by hand waits, as in one table, and holds nothing that we want. They come
// in the order of the locked ones, since each is looked up by itself.
inline constexpr std::string_view take = R"({pass}SELECT {returning} FROM (
  SELECT t.*, t.{fence} AS fila_fence FROM (
    SELECT {waiting} FROM {ready}
     WHERE true{fixed}{due_at?
       AND {due} <= {start}}{after?
       AND ({order}) > ({cursor})}
     ORDER BY {order} LIMIT :n FOR UPDATE SKIP LOCKED) AS r
  CROSS JOIN LATERAL (SELECT * FROM {table} AS t WHERE t.{key} = r.{key} AND t.{status} = {pending}
                      OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS t) AS taken)";

inline constexpr std::string_view take_again =
    R"(SELECT {ordinal}, set_config('fila.taken', :guard, true) FROM {o_redrive} CROSS JOIN LATERAL
       (SELECT FROM {table} AS t JOIN {ready} AS r ON {waits} WHERE t.{key} = o.k AND (SELECT {takeable})
           FOR UPDATE OF r SKIP LOCKED FOR NO KEY UPDATE OF t SKIP LOCKED) AS locked)";

// The leases of what was sent. Held until the transaction ends, in one order.
inline constexpr std::string_view held = R"(held AS MATERIALIZED (
  SELECT lease, open, keys[:] AS keys FROM {leases}
   WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> {places} FROM {o_keys})) AND {owner} = :owner{quietly?
     AND {quietly}}
   ORDER BY lease FOR UPDATE))";
// What of them they have, by key.
inline constexpr std::string_view of_held = R"(JOIN held ON held.lease = o.fence >> {places}
         WHERE held.keys[{place}] = o.k ORDER BY o.k)";
inline constexpr std::string_view owned = "t.{status} = {pending} AND t.{fence} < o.fence";

// A lease ends with the last of its rows.
inline constexpr std::string_view closed = R"(counted AS (
  SELECT lease, max(open) - count(*) AS n FROM changed GROUP BY lease), ended AS (
  DELETE FROM {leases} AS l USING counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n <= 0), left_open AS (
  UPDATE {leases} AS l SET open = n FROM counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n > 0)
SELECT i FROM changed)";

inline constexpr std::string_view settle = R"(WITH {held}, changed AS (
  UPDATE {table} AS t
   SET {changes}, {fence} = o.fence
  FROM (SELECT o.*, lease, open FROM {o_settle}
          {of_held}) AS o
 WHERE t.{key} = ANY(ARRAY[o.k]) AND (SELECT {owned})
  RETURNING o.i, o.lease, o.open), {closed})";

inline constexpr std::string_view erase = R"(WITH {held}, changed AS (
  DELETE FROM {table} AS t
  USING (SELECT o.*, lease, open FROM {o_keys}
          {of_held}) AS o
   WHERE t.{key} = ANY(ARRAY[o.k]) AND (SELECT {owned})
  RETURNING o.i, o.lease, o.open), {closed})";

inline constexpr std::string_view hold = R"(SELECT lease FROM {leases}
 WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> {places} FROM {o_keys})) AND {owner} = :owner
 ORDER BY lease FOR UPDATE)";

// No row of `ready` belongs to what a lease has: the trigger need not look.
inline constexpr std::string_view quietly = "(SELECT set_config('fila.leased', 'on', true)) = 'on'";

// The rows are locked, too: what a settle or a rescue did while this waited for the lease is seen by no snapshot of ours.
// Rows of the lease that are not sent keep the time that they had: then each row has one of its own.
inline constexpr std::string_view extend = R"(WITH {held}, alive AS MATERIALIZED (
  SELECT o.i, o.lease, o.open, o.fence
    FROM (SELECT o.*, lease, open FROM {o_keys}
          {of_held}) AS o
   CROSS JOIN LATERAL (SELECT FROM {table} AS t WHERE t.{key} = o.k AND (SELECT {owned}) OFFSET 0 FOR NO KEY UPDATE) AS t), kept AS (
  SELECT lease, count(*) >= max(open) AS whole, array_agg({place}) AS places FROM alive GROUP BY lease), extended AS (
  UPDATE {leases} AS l
     SET {lease_until} = CASE WHEN whole THEN {until} ELSE l.{lease_until} END,
         untils = CASE WHEN NOT whole THEN ARRAY(
           SELECT CASE WHEN p = ANY(places) THEN {until} ELSE COALESCE(l.untils[p], l.{lease_until}) END
             FROM generate_series(1, cardinality(l.keys)) AS p ORDER BY p) END
    FROM kept WHERE l.lease = ANY(ARRAY[kept.lease]))
SELECT i FROM alive)";

inline constexpr std::string_view stale =
    R"(SELECT lease, keys[:] AS keys, {lease_until} AS until, untils FROM {leases}
   WHERE {lease_until} < {bound_now}{fixed}
   ORDER BY {lease_until} LIMIT :n FOR UPDATE SKIP LOCKED)";

// Of those leases the rows that are still open; of these the first :n whose time is over go. What is left of a lease
// then lasts until the next of its rows is over.
inline constexpr std::string_view rescue = R"(WITH stale AS MATERIALIZED (
  {stale_rows}), open AS MATERIALIZED (
  SELECT u.*, found.crashes, until < {bound_now}{cap? AND {cap}} AS late
    FROM (SELECT lease, lease << {places} | (p - 1) AS fence, k, COALESCE(untils[p], until) AS until
            FROM stale CROSS JOIN LATERAL unnest(keys) WITH ORDINALITY AS listed(k, p)) AS u
    CROSS JOIN LATERAL (SELECT {crashes?COALESCE(t.{crashes}, 0)}{!crashes?0} AS crashes FROM {table} AS t
                         WHERE t.{key} = u.k AND t.{status} = {pending} AND t.{fence} < u.fence OFFSET 0) AS found), marked AS MATERIALIZED (
  SELECT *, late AND row_number() OVER (PARTITION BY late ORDER BY fence) <= :n AS goes FROM open), moved AS (
  {moving}), rest AS (
  SELECT lease, count(until) AS n, min(until) AS until
    FROM (SELECT lease, NULL::timestamptz AS until FROM stale UNION ALL SELECT lease, until FROM marked WHERE NOT goes) AS q
   GROUP BY lease), ended AS (
  DELETE FROM {leases} AS l USING rest WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n = 0), left_open AS (
  UPDATE {leases} AS l SET open = rest.n, {lease_until} = rest.until FROM rest
   WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n > 0)
SELECT dead FROM moved)";
inline constexpr std::string_view requeue = R"(UPDATE {table} AS t
     SET {fence} = o.fence, {status} = {mortal?(CASE WHEN {doomed} THEN {dead} ELSE {pending} END){cast}}{!mortal?{pending}}{crashes?,
         {crashes} = o.crashes + CASE WHEN o.crashes {full} THEN 0 ELSE 1 END}{last_error?,
         {last_error} = 'lease expired'}{updated_at?,
         {updated_at} = {ticked_t}}
    FROM (SELECT * FROM marked WHERE goes ORDER BY k) AS o WHERE t.{key} = ANY(ARRAY[o.k]) AND (SELECT {owned})
  RETURNING {mortal?{doomed}}{!mortal?false} AS dead)";
inline constexpr std::string_view bury =
    R"(DELETE FROM {table} AS t USING (SELECT * FROM marked WHERE goes ORDER BY k) AS o
   WHERE t.{key} = ANY(ARRAY[o.k]) AND (SELECT {owned}) AND {quietly}
  RETURNING true AS dead)";
inline constexpr std::string_view doomed = "o.crashes >= :max_crashes - 1";

inline constexpr std::string_view counts = R"(SELECT
  (SELECT count(*) FROM (SELECT 1 FROM {ready} WHERE true{fixed} LIMIT :n) q),
  (SELECT LEAST(COALESCE(sum(open), 0), :n)::bigint FROM (SELECT open FROM {leases} WHERE true{fixed} LIMIT :n) q),
  {buried?(SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {status} = {dead}{fixed} LIMIT :n) q)}{!buried?0})";

}  // namespace fila::inline v1::detail::sql::split
