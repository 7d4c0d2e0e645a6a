// SPDX-License-Identifier: MIT
// The SQL of every verb of split tables as it was reviewed, beside golden_statements.hpp.
#pragma once

#include <string_view>

namespace golden {

inline constexpr std::string_view postgres_split_jobs = R"sql(-- claim
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start), next AS MATERIALIZED (
  SELECT ctid AS fila_at, "id" AS fila_key FROM "public"."fila_jobs_ready"
   WHERE (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
     AND "due_at" <= (SELECT start FROM pass)
   ORDER BY "priority", "due_at", "id" LIMIT LEAST($1::bigint, 1048575) FOR UPDATE SKIP LOCKED), taken AS (
  DELETE FROM "public"."fila_jobs_ready" WHERE ctid = ANY(ARRAY(SELECT fila_at FROM next))), lease AS (
  INSERT INTO "public"."fila_jobs_leases" ("lease_until", "owner", open, keys)
  SELECT clock_timestamp() + $2::bigint * interval '1 microsecond', $3::text, count(*), array_agg(fila_key) FROM next
  HAVING count(*) > 0 RETURNING lease, keys)
SELECT "id", fila_fence, "failures", "crashes", (SELECT (extract(epoch FROM start) * 1000000)::bigint FROM pass), "priority" AS fila_1, "due_at" AS fila_2, "id" AS fila_3, "payload" FROM (
  SELECT t.*, fila_place, CASE WHEN t."fence" < (SELECT lease FROM lease) << 20
              THEN (SELECT lease FROM lease) << 20 | (fila_place - 1)
              ELSE ('fila: the fence of a row is ahead of all leases: SELECT setval(pg_get_serial_sequence(''"public"."fila_jobs_leases"'', ''lease''), (SELECT max("fence") >> 20 FROM "public"."fila_jobs"))   -- its fence:' || t."fence")::bigint END AS fila_fence
    FROM unnest((SELECT keys FROM lease)) WITH ORDINALITY AS placed(fila_key, fila_place)
    CROSS JOIN LATERAL (SELECT * FROM "public"."fila_jobs" AS t WHERE t."id" = fila_key AND t."status" = 'pending' OFFSET 0) AS t) AS claimed
 ORDER BY fila_place;
-- claim_after
WITH next AS MATERIALIZED (
  SELECT ctid AS fila_at, "id" AS fila_key FROM "public"."fila_jobs_ready"
   WHERE (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
     AND "due_at" <= (timestamptz 'epoch' + $1::bigint * interval '1 microsecond')
     AND ("priority", "due_at", "id") > ($2::bigint, $3::text::timestamptz, $4::bigint)
   ORDER BY "priority", "due_at", "id" LIMIT LEAST($5::bigint, 1048575) FOR UPDATE SKIP LOCKED), taken AS (
  DELETE FROM "public"."fila_jobs_ready" WHERE ctid = ANY(ARRAY(SELECT fila_at FROM next))), lease AS (
  INSERT INTO "public"."fila_jobs_leases" ("lease_until", "owner", open, keys)
  SELECT clock_timestamp() + $6::bigint * interval '1 microsecond', $7::text, count(*), array_agg(fila_key) FROM next
  HAVING count(*) > 0 RETURNING lease, keys)
SELECT "id", fila_fence, "failures", "crashes", 0, "priority" AS fila_1, "due_at" AS fila_2, "id" AS fila_3, "payload" FROM (
  SELECT t.*, fila_place, CASE WHEN t."fence" < (SELECT lease FROM lease) << 20
              THEN (SELECT lease FROM lease) << 20 | (fila_place - 1)
              ELSE ('fila: the fence of a row is ahead of all leases: SELECT setval(pg_get_serial_sequence(''"public"."fila_jobs_leases"'', ''lease''), (SELECT max("fence") >> 20 FROM "public"."fila_jobs"))   -- its fence:' || t."fence")::bigint END AS fila_fence
    FROM unnest((SELECT keys FROM lease)) WITH ORDINALITY AS placed(fila_key, fila_place)
    CROSS JOIN LATERAL (SELECT * FROM "public"."fila_jobs" AS t WHERE t."id" = fila_key AND t."status" = 'pending' OFFSET 0) AS t) AS claimed
 ORDER BY fila_place;
-- take
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", fila_fence, "failures", "crashes", (SELECT (extract(epoch FROM start) * 1000000)::bigint FROM pass), "priority" AS fila_1, "due_at" AS fila_2, "id" AS fila_3, "payload", (SELECT mark FROM pass) FROM (
  SELECT t.*, t."fence" AS fila_fence FROM (
    SELECT "priority", "due_at", "id" FROM "public"."fila_jobs_ready"
     WHERE true
       AND "due_at" <= (SELECT start FROM pass)
     ORDER BY "priority", "due_at", "id" LIMIT $2::bigint FOR UPDATE SKIP LOCKED) AS r
  CROSS JOIN LATERAL (SELECT * FROM "public"."fila_jobs" AS t WHERE t."id" = r."id" AND t."status" = 'pending'
                      OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS t) AS taken;
-- take_after
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", fila_fence, "failures", "crashes", 0, "priority" AS fila_1, "due_at" AS fila_2, "id" AS fila_3, "payload", (SELECT mark FROM pass) FROM (
  SELECT t.*, t."fence" AS fila_fence FROM (
    SELECT "priority", "due_at", "id" FROM "public"."fila_jobs_ready"
     WHERE true
       AND "due_at" <= (timestamptz 'epoch' + $2::bigint * interval '1 microsecond')
       AND ("priority", "due_at", "id") > ($3::bigint, $4::text::timestamptz, $5::bigint)
     ORDER BY "priority", "due_at", "id" LIMIT $6::bigint FOR UPDATE SKIP LOCKED) AS r
  CROSS JOIN LATERAL (SELECT * FROM "public"."fila_jobs" AS t WHERE t."id" = r."id" AND t."status" = 'pending'
                      OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS t) AS taken;
-- settle
WITH held AS MATERIALIZED (
  SELECT lease, open, keys[:] AS keys FROM "public"."fila_jobs_leases"
   WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "owner" = $3::text
   ORDER BY lease FOR UPDATE), changed AS (
  UPDATE "public"."fila_jobs" AS t
   SET "status" = o.word::text,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE o.failure END,
       "due_at" = CASE WHEN o.delay IS NULL THEN t."due_at" ELSE clock_timestamp() + o.delay * interval '1 microsecond' END,
       "last_error" = COALESCE(o.error, t."last_error"), "fence" = o.fence
  FROM (SELECT o.*, lease, open FROM unnest($1::bigint[], $2::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i)
          JOIN held ON held.lease = o.fence >> 20
         WHERE held.keys[(fence & 1048575)::integer + 1] = o.k ORDER BY o.k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND t."fence" < o.fence)
  RETURNING o.i, o.lease, o.open), counted AS (
  SELECT lease, max(open) - count(*) AS n FROM changed GROUP BY lease), ended AS (
  DELETE FROM "public"."fila_jobs_leases" AS l USING counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n <= 0), left_open AS (
  UPDATE "public"."fila_jobs_leases" AS l SET open = n FROM counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n > 0)
SELECT i FROM changed;
-- erase
WITH held AS MATERIALIZED (
  SELECT lease, open, keys[:] AS keys FROM "public"."fila_jobs_leases"
   WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "owner" = $3::text
     AND (SELECT set_config('fila.leased', 'on', true)) = 'on'
   ORDER BY lease FOR UPDATE), changed AS (
  DELETE FROM "public"."fila_jobs" AS t
  USING (SELECT o.*, lease, open FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i)
          JOIN held ON held.lease = o.fence >> 20
         WHERE held.keys[(fence & 1048575)::integer + 1] = o.k ORDER BY o.k) AS o
   WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND t."fence" < o.fence)
  RETURNING o.i, o.lease, o.open), counted AS (
  SELECT lease, max(open) - count(*) AS n FROM changed GROUP BY lease), ended AS (
  DELETE FROM "public"."fila_jobs_leases" AS l USING counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n <= 0), left_open AS (
  UPDATE "public"."fila_jobs_leases" AS l SET open = n FROM counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n > 0)
SELECT i FROM changed;
-- settle_taken
UPDATE "public"."fila_jobs" AS t
   SET "status" = o.word::text,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE o.failure END,
       "due_at" = CASE WHEN o.delay IS NULL THEN t."due_at" ELSE clock_timestamp() + o.delay * interval '1 microsecond' END,
       "last_error" = COALESCE(o.error, t."last_error")
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $7::text)
RETURNING o.i;
-- erase_taken
DELETE FROM "public"."fila_jobs" AS t
 USING (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i;
-- take_again
SELECT o.i, set_config('fila.taken', $1::text, true) FROM unnest($2::bigint[]) WITH ORDINALITY AS o(k, i) CROSS JOIN LATERAL
       (SELECT FROM "public"."fila_jobs" AS t JOIN "public"."fila_jobs_ready" AS r ON r."priority" = t."priority" AND r."due_at" = t."due_at" AND r."id" = t."id" WHERE t."id" = o.k AND (SELECT t."status" = 'pending')
           FOR UPDATE OF r SKIP LOCKED FOR NO KEY UPDATE OF t SKIP LOCKED) AS locked;
-- settle_or_raise
WITH touched AS (
UPDATE "public"."fila_jobs" AS t
   SET "status" = o.word::text,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE o.failure END,
       "due_at" = CASE WHEN o.delay IS NULL THEN t."due_at" ELSE clock_timestamp() + o.delay * interval '1 microsecond' END,
       "last_error" = COALESCE(o.error, t."last_error")
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $7::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- erase_or_raise
WITH touched AS (
DELETE FROM "public"."fila_jobs" AS t
 USING (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- hold
SELECT lease FROM "public"."fila_jobs_leases"
 WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "owner" = $3::text
 ORDER BY lease FOR UPDATE;
-- extend
WITH held AS MATERIALIZED (
  SELECT lease, open, keys[:] AS keys FROM "public"."fila_jobs_leases"
   WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "owner" = $3::text
   ORDER BY lease FOR UPDATE), alive AS MATERIALIZED (
  SELECT o.i, o.lease, o.open, o.fence
    FROM (SELECT o.*, lease, open FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i)
          JOIN held ON held.lease = o.fence >> 20
         WHERE held.keys[(fence & 1048575)::integer + 1] = o.k ORDER BY o.k) AS o
   CROSS JOIN LATERAL (SELECT FROM "public"."fila_jobs" AS t WHERE t."id" = o.k AND (SELECT t."status" = 'pending' AND t."fence" < o.fence) OFFSET 0 FOR NO KEY UPDATE) AS t), kept AS (
  SELECT lease, count(*) >= max(open) AS whole, array_agg((fence & 1048575)::integer + 1) AS places FROM alive GROUP BY lease), extended AS (
  UPDATE "public"."fila_jobs_leases" AS l
     SET "lease_until" = CASE WHEN whole THEN clock_timestamp() + $4::bigint * interval '1 microsecond' ELSE l."lease_until" END,
         untils = CASE WHEN NOT whole THEN ARRAY(
           SELECT CASE WHEN p = ANY(places) THEN clock_timestamp() + $4::bigint * interval '1 microsecond' ELSE COALESCE(l.untils[p], l."lease_until") END
             FROM generate_series(1, cardinality(l.keys)) AS p ORDER BY p) END
    FROM kept WHERE l.lease = ANY(ARRAY[kept.lease]))
SELECT i FROM alive;
-- rescue
WITH stale AS MATERIALIZED (
  SELECT lease, keys[:] AS keys, "lease_until" AS until, untils FROM "public"."fila_jobs_leases"
   WHERE "lease_until" < (SELECT clock_timestamp())
   ORDER BY "lease_until" LIMIT $1::bigint FOR UPDATE SKIP LOCKED), open AS MATERIALIZED (
  SELECT u.*, found.crashes, until < (SELECT clock_timestamp()) AS late
    FROM (SELECT lease, lease << 20 | (p - 1) AS fence, k, COALESCE(untils[p], until) AS until
            FROM stale CROSS JOIN LATERAL unnest(keys) WITH ORDINALITY AS listed(k, p)) AS u
    CROSS JOIN LATERAL (SELECT COALESCE(t."crashes", 0) AS crashes FROM "public"."fila_jobs" AS t
                         WHERE t."id" = u.k AND t."status" = 'pending' AND t."fence" < u.fence OFFSET 0) AS found), marked AS MATERIALIZED (
  SELECT *, late AND row_number() OVER (PARTITION BY late ORDER BY fence) <= $1::bigint AS goes FROM open), moved AS (
  UPDATE "public"."fila_jobs" AS t
     SET "fence" = o.fence, "status" = (CASE WHEN o.crashes >= $2::bigint - 1 THEN 'dead' ELSE 'pending' END)::text,
         "crashes" = o.crashes + CASE WHEN o.crashes IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE 1 END,
         "last_error" = 'lease expired'
    FROM (SELECT * FROM marked WHERE goes ORDER BY k) AS o WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND t."fence" < o.fence)
  RETURNING o.crashes >= $2::bigint - 1 AS dead), rest AS (
  SELECT lease, count(until) AS n, min(until) AS until
    FROM (SELECT lease, NULL::timestamptz AS until FROM stale UNION ALL SELECT lease, until FROM marked WHERE NOT goes) AS q
   GROUP BY lease), ended AS (
  DELETE FROM "public"."fila_jobs_leases" AS l USING rest WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n = 0), left_open AS (
  UPDATE "public"."fila_jobs_leases" AS l SET open = rest.n, "lease_until" = rest.until FROM rest
   WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n > 0)
SELECT dead FROM moved;
-- enqueue
INSERT INTO "public"."fila_jobs" ("status", "due_at", "priority", "fence", "failures", "crashes", "payload")
SELECT 'pending'::text, CASE WHEN o.delay IS NULL THEN clock_timestamp() ELSE clock_timestamp() + o.delay * interval '1 microsecond' END, o.priority, COALESCE((SELECT max(lease) FROM "public"."fila_jobs_leases"), 0) << 20 | 1048575, 0, 0, o.c0
  FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS o(delay, priority, c0, i);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "public"."fila_jobs_ready" WHERE true LIMIT $1::bigint) q),
  (SELECT LEAST(COALESCE(sum(open), 0), $1::bigint)::bigint FROM (SELECT open FROM "public"."fila_jobs_leases" WHERE true LIMIT $1::bigint) q),
  (SELECT count(*) FROM (SELECT 1 FROM "public"."fila_jobs" WHERE "status" = 'dead' LIMIT $1::bigint) q);
-- dead_letters
SELECT "id", "fence", "failures", "crashes", 0, "priority" AS fila_1, "due_at" AS fila_2, "id" AS fila_3, "payload", "last_error" FROM "public"."fila_jobs"
 WHERE "status" = 'dead'
 ORDER BY "id" LIMIT $1::bigint;
-- redrive
UPDATE "public"."fila_jobs" AS t
   SET "status" = 'pending', "failures" = 0, "crashes" = 0, "due_at" = clock_timestamp()
  FROM (SELECT * FROM unnest($1::bigint[]) WITH ORDINALITY AS o(k, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'dead')
RETURNING o.i;
-- redrive_all
WITH revived AS (
UPDATE "public"."fila_jobs" AS t SET "status" = 'pending', "failures" = 0, "crashes" = 0, "due_at" = clock_timestamp()
 WHERE t."status" = 'dead'
RETURNING 1)
SELECT count(*) FROM revived;
-- next_index
ALTER TABLE "public"."fila_jobs_ready" ADD PRIMARY KEY ("priority", "due_at", "id");
-- stale_index
CREATE INDEX "fila_jobs_leases_fila_stale" ON "public"."fila_jobs_leases" ("lease_until");
)sql";

inline constexpr std::string_view postgres_parcels = R"sql(-- claim
WITH next AS MATERIALIZED (
  SELECT ctid AS fila_at, "id" AS fila_key FROM "post"."parcels_ready"
   WHERE (SELECT set_config('synchronous_commit', 'off', true)) = 'off' AND "queue" = 'o''mail' AND "shard" = 3
   ORDER BY "priority", "id" LIMIT LEAST($1::bigint, 1048575) FOR UPDATE SKIP LOCKED), taken AS (
  DELETE FROM "post"."parcels_ready" WHERE ctid = ANY(ARRAY(SELECT fila_at FROM next))), lease AS (
  INSERT INTO "post"."parcels_leases" ("locked_until", "locked_by", open, keys, "queue", "shard")
  SELECT clock_timestamp() + $2::bigint * interval '1 microsecond', $3::text, count(*), array_agg(fila_key), 'o''mail', 3 FROM next
  HAVING count(*) > 0 RETURNING lease, keys)
SELECT "id", fila_fence, 0, "crashes", 0, "priority" AS fila_1, "id" AS fila_2, "cells" FROM (
  SELECT t.*, fila_place, CASE WHEN t."fence" < (SELECT lease FROM lease) << 20
              THEN (SELECT lease FROM lease) << 20 | (fila_place - 1)
              ELSE ('fila: the fence of a row is ahead of all leases: SELECT setval(pg_get_serial_sequence(''"post"."parcels_leases"'', ''lease''), (SELECT max("fence") >> 20 FROM "post"."parcels"))   -- its fence:' || t."fence")::bigint END AS fila_fence
    FROM unnest((SELECT keys FROM lease)) WITH ORDINALITY AS placed(fila_key, fila_place)
    CROSS JOIN LATERAL (SELECT * FROM "post"."parcels" AS t WHERE t."id" = fila_key AND t."state" = 'pending' OFFSET 0) AS t) AS claimed
 ORDER BY fila_place;
-- claim_after
WITH next AS MATERIALIZED (
  SELECT ctid AS fila_at, "id" AS fila_key FROM "post"."parcels_ready"
   WHERE (SELECT set_config('synchronous_commit', 'off', true)) = 'off' AND "queue" = 'o''mail' AND "shard" = 3
     AND ("priority", "id") > ($1::bigint, $2::bigint)
   ORDER BY "priority", "id" LIMIT LEAST($3::bigint, 1048575) FOR UPDATE SKIP LOCKED), taken AS (
  DELETE FROM "post"."parcels_ready" WHERE ctid = ANY(ARRAY(SELECT fila_at FROM next))), lease AS (
  INSERT INTO "post"."parcels_leases" ("locked_until", "locked_by", open, keys, "queue", "shard")
  SELECT clock_timestamp() + $4::bigint * interval '1 microsecond', $5::text, count(*), array_agg(fila_key), 'o''mail', 3 FROM next
  HAVING count(*) > 0 RETURNING lease, keys)
SELECT "id", fila_fence, 0, "crashes", 0, "priority" AS fila_1, "id" AS fila_2, "cells" FROM (
  SELECT t.*, fila_place, CASE WHEN t."fence" < (SELECT lease FROM lease) << 20
              THEN (SELECT lease FROM lease) << 20 | (fila_place - 1)
              ELSE ('fila: the fence of a row is ahead of all leases: SELECT setval(pg_get_serial_sequence(''"post"."parcels_leases"'', ''lease''), (SELECT max("fence") >> 20 FROM "post"."parcels"))   -- its fence:' || t."fence")::bigint END AS fila_fence
    FROM unnest((SELECT keys FROM lease)) WITH ORDINALITY AS placed(fila_key, fila_place)
    CROSS JOIN LATERAL (SELECT * FROM "post"."parcels" AS t WHERE t."id" = fila_key AND t."state" = 'pending' OFFSET 0) AS t) AS claimed
 ORDER BY fila_place;
-- take
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", fila_fence, 0, "crashes", 0, "priority" AS fila_1, "id" AS fila_2, "cells", (SELECT mark FROM pass) FROM (
  SELECT t.*, t."fence" AS fila_fence FROM (
    SELECT "queue", "shard", "priority", "id" FROM "post"."parcels_ready"
     WHERE true AND "queue" = 'o''mail' AND "shard" = 3
     ORDER BY "priority", "id" LIMIT $2::bigint FOR UPDATE SKIP LOCKED) AS r
  CROSS JOIN LATERAL (SELECT * FROM "post"."parcels" AS t WHERE t."id" = r."id" AND t."state" = 'pending'
                      OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS t) AS taken;
-- take_after
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", fila_fence, 0, "crashes", 0, "priority" AS fila_1, "id" AS fila_2, "cells", (SELECT mark FROM pass) FROM (
  SELECT t.*, t."fence" AS fila_fence FROM (
    SELECT "queue", "shard", "priority", "id" FROM "post"."parcels_ready"
     WHERE true AND "queue" = 'o''mail' AND "shard" = 3
       AND ("priority", "id") > ($2::bigint, $3::bigint)
     ORDER BY "priority", "id" LIMIT $4::bigint FOR UPDATE SKIP LOCKED) AS r
  CROSS JOIN LATERAL (SELECT * FROM "post"."parcels" AS t WHERE t."id" = r."id" AND t."state" = 'pending'
                      OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS t) AS taken;
-- settle
WITH held AS MATERIALIZED (
  SELECT lease, open, keys[:] AS keys FROM "post"."parcels_leases"
   WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "locked_by" = $3::text
   ORDER BY lease FOR UPDATE), changed AS (
  UPDATE "post"."parcels" AS t
   SET "state" = o.word::text,
       "touched" = GREATEST(clock_timestamp(), t."touched" + interval '1 microsecond'),
       "differences" = CASE WHEN o.written THEN o.r0 ELSE t."differences" END, "fence" = o.fence
  FROM (SELECT o.*, lease, open FROM unnest($1::bigint[], $2::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::boolean[], $9::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, written, r0, i)
          JOIN held ON held.lease = o.fence >> 20
         WHERE held.keys[(fence & 1048575)::integer + 1] = o.k ORDER BY o.k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."fence" < o.fence)
  RETURNING o.i, o.lease, o.open), counted AS (
  SELECT lease, max(open) - count(*) AS n FROM changed GROUP BY lease), ended AS (
  DELETE FROM "post"."parcels_leases" AS l USING counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n <= 0), left_open AS (
  UPDATE "post"."parcels_leases" AS l SET open = n FROM counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n > 0)
SELECT i FROM changed;
-- erase
WITH held AS MATERIALIZED (
  SELECT lease, open, keys[:] AS keys FROM "post"."parcels_leases"
   WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "locked_by" = $3::text
     AND (SELECT set_config('fila.leased', 'on', true)) = 'on'
   ORDER BY lease FOR UPDATE), changed AS (
  DELETE FROM "post"."parcels" AS t
  USING (SELECT o.*, lease, open FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i)
          JOIN held ON held.lease = o.fence >> 20
         WHERE held.keys[(fence & 1048575)::integer + 1] = o.k ORDER BY o.k) AS o
   WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."fence" < o.fence)
  RETURNING o.i, o.lease, o.open), counted AS (
  SELECT lease, max(open) - count(*) AS n FROM changed GROUP BY lease), ended AS (
  DELETE FROM "post"."parcels_leases" AS l USING counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n <= 0), left_open AS (
  UPDATE "post"."parcels_leases" AS l SET open = n FROM counted WHERE l.lease = ANY(ARRAY[counted.lease]) AND n > 0)
SELECT i FROM changed;
-- settle_taken
UPDATE "post"."parcels" AS t
   SET "state" = o.word::text,
       "touched" = GREATEST(clock_timestamp(), t."touched" + interval '1 microsecond'),
       "differences" = CASE WHEN o.written THEN o.r0 ELSE t."differences" END
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[], $8::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, written, r0, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $9::text)
RETURNING o.i;
-- erase_taken
DELETE FROM "post"."parcels" AS t
 USING (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i;
-- take_again
SELECT o.i, set_config('fila.taken', $1::text, true) FROM unnest($2::bigint[]) WITH ORDINALITY AS o(k, i) CROSS JOIN LATERAL
       (SELECT FROM "post"."parcels" AS t JOIN "post"."parcels_ready" AS r ON r."priority" = t."priority" AND r."id" = t."id" WHERE t."id" = o.k AND (SELECT t."state" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3)
           FOR UPDATE OF r SKIP LOCKED FOR NO KEY UPDATE OF t SKIP LOCKED) AS locked;
-- settle_or_raise
WITH touched AS (
UPDATE "post"."parcels" AS t
   SET "state" = o.word::text,
       "touched" = GREATEST(clock_timestamp(), t."touched" + interval '1 microsecond'),
       "differences" = CASE WHEN o.written THEN o.r0 ELSE t."differences" END
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[], $8::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, written, r0, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $9::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- erase_or_raise
WITH touched AS (
DELETE FROM "post"."parcels" AS t
 USING (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- hold
SELECT lease FROM "post"."parcels_leases"
 WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "locked_by" = $3::text
 ORDER BY lease FOR UPDATE;
-- extend
WITH held AS MATERIALIZED (
  SELECT lease, open, keys[:] AS keys FROM "post"."parcels_leases"
   WHERE lease = ANY(ARRAY(SELECT DISTINCT o.fence >> 20 FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i))) AND "locked_by" = $3::text
   ORDER BY lease FOR UPDATE), alive AS MATERIALIZED (
  SELECT o.i, o.lease, o.open, o.fence
    FROM (SELECT o.*, lease, open FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i)
          JOIN held ON held.lease = o.fence >> 20
         WHERE held.keys[(fence & 1048575)::integer + 1] = o.k ORDER BY o.k) AS o
   CROSS JOIN LATERAL (SELECT FROM "post"."parcels" AS t WHERE t."id" = o.k AND (SELECT t."state" = 'pending' AND t."fence" < o.fence) OFFSET 0 FOR NO KEY UPDATE) AS t), kept AS (
  SELECT lease, count(*) >= max(open) AS whole, array_agg((fence & 1048575)::integer + 1) AS places FROM alive GROUP BY lease), extended AS (
  UPDATE "post"."parcels_leases" AS l
     SET "locked_until" = CASE WHEN whole THEN clock_timestamp() + $4::bigint * interval '1 microsecond' ELSE l."locked_until" END,
         untils = CASE WHEN NOT whole THEN ARRAY(
           SELECT CASE WHEN p = ANY(places) THEN clock_timestamp() + $4::bigint * interval '1 microsecond' ELSE COALESCE(l.untils[p], l."locked_until") END
             FROM generate_series(1, cardinality(l.keys)) AS p ORDER BY p) END
    FROM kept WHERE l.lease = ANY(ARRAY[kept.lease]))
SELECT i FROM alive;
-- rescue
WITH stale AS MATERIALIZED (
  SELECT lease, keys[:] AS keys, "locked_until" AS until, untils FROM "post"."parcels_leases"
   WHERE "locked_until" < (SELECT clock_timestamp()) AND "queue" = 'o''mail' AND "shard" = 3
   ORDER BY "locked_until" LIMIT $1::bigint FOR UPDATE SKIP LOCKED), open AS MATERIALIZED (
  SELECT u.*, found.crashes, until < (SELECT clock_timestamp()) AND found.crashes < $2::bigint - 1 AS late
    FROM (SELECT lease, lease << 20 | (p - 1) AS fence, k, COALESCE(untils[p], until) AS until
            FROM stale CROSS JOIN LATERAL unnest(keys) WITH ORDINALITY AS listed(k, p)) AS u
    CROSS JOIN LATERAL (SELECT COALESCE(t."crashes", 0) AS crashes FROM "post"."parcels" AS t
                         WHERE t."id" = u.k AND t."state" = 'pending' AND t."fence" < u.fence OFFSET 0) AS found), marked AS MATERIALIZED (
  SELECT *, late AND row_number() OVER (PARTITION BY late ORDER BY fence) <= $1::bigint AS goes FROM open), moved AS (
  UPDATE "post"."parcels" AS t
     SET "fence" = o.fence, "state" = 'pending',
         "crashes" = o.crashes + CASE WHEN o.crashes IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE 1 END,
         "touched" = GREATEST(clock_timestamp(), t."touched" + interval '1 microsecond')
    FROM (SELECT * FROM marked WHERE goes ORDER BY k) AS o WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."fence" < o.fence)
  RETURNING false AS dead), rest AS (
  SELECT lease, count(until) AS n, min(until) AS until
    FROM (SELECT lease, NULL::timestamptz AS until FROM stale UNION ALL SELECT lease, until FROM marked WHERE NOT goes) AS q
   GROUP BY lease), ended AS (
  DELETE FROM "post"."parcels_leases" AS l USING rest WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n = 0), left_open AS (
  UPDATE "post"."parcels_leases" AS l SET open = rest.n, "locked_until" = rest.until FROM rest
   WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n > 0)
SELECT dead FROM moved;
-- rescue_erase
WITH stale AS MATERIALIZED (
  SELECT lease, keys[:] AS keys, "locked_until" AS until, untils FROM "post"."parcels_leases"
   WHERE "locked_until" < (SELECT clock_timestamp()) AND "queue" = 'o''mail' AND "shard" = 3
   ORDER BY "locked_until" LIMIT $1::bigint FOR UPDATE SKIP LOCKED), open AS MATERIALIZED (
  SELECT u.*, found.crashes, until < (SELECT clock_timestamp()) AND found.crashes >= $2::bigint - 1 AS late
    FROM (SELECT lease, lease << 20 | (p - 1) AS fence, k, COALESCE(untils[p], until) AS until
            FROM stale CROSS JOIN LATERAL unnest(keys) WITH ORDINALITY AS listed(k, p)) AS u
    CROSS JOIN LATERAL (SELECT COALESCE(t."crashes", 0) AS crashes FROM "post"."parcels" AS t
                         WHERE t."id" = u.k AND t."state" = 'pending' AND t."fence" < u.fence OFFSET 0) AS found), marked AS MATERIALIZED (
  SELECT *, late AND row_number() OVER (PARTITION BY late ORDER BY fence) <= $1::bigint AS goes FROM open), moved AS (
  DELETE FROM "post"."parcels" AS t USING (SELECT * FROM marked WHERE goes ORDER BY k) AS o
   WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'pending' AND t."fence" < o.fence) AND (SELECT set_config('fila.leased', 'on', true)) = 'on'
  RETURNING true AS dead), rest AS (
  SELECT lease, count(until) AS n, min(until) AS until
    FROM (SELECT lease, NULL::timestamptz AS until FROM stale UNION ALL SELECT lease, until FROM marked WHERE NOT goes) AS q
   GROUP BY lease), ended AS (
  DELETE FROM "post"."parcels_leases" AS l USING rest WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n = 0), left_open AS (
  UPDATE "post"."parcels_leases" AS l SET open = rest.n, "locked_until" = rest.until FROM rest
   WHERE l.lease = ANY(ARRAY[rest.lease]) AND rest.n > 0)
SELECT dead FROM moved;
-- enqueue
INSERT INTO "post"."parcels" ("state", "queue", "shard", "priority", "fence", "crashes", "touched", "cells")
SELECT 'pending'::text, 'o''mail', 3, o.priority, COALESCE((SELECT max(lease) FROM "post"."parcels_leases"), 0) << 20 | 1048575, 0, clock_timestamp(), o.c0
  FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS o(delay, priority, c0, i);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "post"."parcels_ready" WHERE true AND "queue" = 'o''mail' AND "shard" = 3 LIMIT $1::bigint) q),
  (SELECT LEAST(COALESCE(sum(open), 0), $1::bigint)::bigint FROM (SELECT open FROM "post"."parcels_leases" WHERE true AND "queue" = 'o''mail' AND "shard" = 3 LIMIT $1::bigint) q),
  0;
-- next_index
ALTER TABLE "post"."parcels_ready" ADD PRIMARY KEY ("queue", "shard", "priority", "id");
-- stale_index
CREATE INDEX "parcels_leases_fila_stale" ON "post"."parcels_leases" ("queue", "shard", "locked_until");
)sql";

}  // namespace golden
