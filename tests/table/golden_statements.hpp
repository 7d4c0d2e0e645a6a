// SPDX-License-Identifier: MIT
// The SQL of every verb as it was reviewed. A change here is a change of what is sent to databases.
#pragma once

#include <string_view>

namespace golden {

inline constexpr std::string_view postgres_imports = R"sql(-- claim
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start), next AS MATERIALIZED (
  SELECT "id" FROM "etl"."import rows"
   WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
     AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
     AND COALESCE("run_at", '-infinity') <= (SELECT start FROM pass)
     AND (tenant = 7 -- {ours} :only
     )
   ORDER BY (-"priority"), COALESCE("run_at", '-infinity'), "id" LIMIT $1::bigint FOR NO KEY UPDATE SKIP LOCKED), claimed AS (
UPDATE "etl"."import rows"
   SET "status" = 'processing', "locked_until" = clock_timestamp() + $2::bigint * interval '1 microsecond', "fence" = CASE WHEN "fence" IN (2147483647, 9223372036854775807) THEN 1 ELSE COALESCE("fence", 0) + 1 END, "locked_by" = $3::text
 WHERE "id" = ANY(ARRAY(SELECT "id" FROM next))
RETURNING "id", "fence", "failures", "crashes", (SELECT (extract(epoch FROM start) * 1000000)::bigint FROM pass), (-"priority") AS fila_1, COALESCE("run_at", '-infinity') AS fila_2, "id" AS fila_3, "cells", CASE WHEN "seen" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "seen") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END)
SELECT * FROM claimed ORDER BY fila_1, fila_2, fila_3;
-- claim_after
WITH next AS MATERIALIZED (
  SELECT "id" FROM "etl"."import rows"
   WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
     AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
     AND COALESCE("run_at", '-infinity') <= (timestamptz 'epoch' + $1::bigint * interval '1 microsecond')
     AND (tenant = 7 -- {ours} :only
     )
     AND ((-"priority"), COALESCE("run_at", '-infinity'), "id") > ($2::bigint, $3::text::timestamptz, $4::bigint)
   ORDER BY (-"priority"), COALESCE("run_at", '-infinity'), "id" LIMIT $5::bigint FOR NO KEY UPDATE SKIP LOCKED), claimed AS (
UPDATE "etl"."import rows"
   SET "status" = 'processing', "locked_until" = clock_timestamp() + $6::bigint * interval '1 microsecond', "fence" = CASE WHEN "fence" IN (2147483647, 9223372036854775807) THEN 1 ELSE COALESCE("fence", 0) + 1 END, "locked_by" = $7::text
 WHERE "id" = ANY(ARRAY(SELECT "id" FROM next))
RETURNING "id", "fence", "failures", "crashes", 0, (-"priority") AS fila_1, COALESCE("run_at", '-infinity') AS fila_2, "id" AS fila_3, "cells", CASE WHEN "seen" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "seen") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END)
SELECT * FROM claimed ORDER BY fila_1, fila_2, fila_3;
-- take
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", "fence", "failures", "crashes", (SELECT (extract(epoch FROM start) * 1000000)::bigint FROM pass), (-"priority") AS fila_1, COALESCE("run_at", '-infinity') AS fila_2, "id" AS fila_3, "cells", CASE WHEN "seen" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "seen") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, (SELECT mark FROM pass) FROM "etl"."import rows"
 WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
   AND COALESCE("run_at", '-infinity') <= (SELECT start FROM pass)
   AND (tenant = 7 -- {ours} :only
   )
 ORDER BY (-"priority"), COALESCE("run_at", '-infinity'), "id" LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED;
-- take_after
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", "fence", "failures", "crashes", 0, (-"priority") AS fila_1, COALESCE("run_at", '-infinity') AS fila_2, "id" AS fila_3, "cells", CASE WHEN "seen" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "seen") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, (SELECT mark FROM pass) FROM "etl"."import rows"
 WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
   AND COALESCE("run_at", '-infinity') <= (timestamptz 'epoch' + $2::bigint * interval '1 microsecond')
   AND (tenant = 7 -- {ours} :only
   )
   AND ((-"priority"), COALESCE("run_at", '-infinity'), "id") > ($3::bigint, $4::text::timestamptz, $5::bigint)
 ORDER BY (-"priority"), COALESCE("run_at", '-infinity'), "id" LIMIT $6::bigint FOR NO KEY UPDATE SKIP LOCKED;
-- settle
UPDATE "etl"."import rows" AS t
   SET "status" = o.word::text,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE o.failure END,
       "run_at" = CASE WHEN o.delay IS NULL THEN t."run_at" ELSE clock_timestamp() + o.delay * interval '1 microsecond' END,
       "error" = COALESCE(o.error, t."error"),
       "differences" = CASE WHEN o.written THEN o.r0 ELSE t."differences" END
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[], $8::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, written, r0, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'processing' AND t."queue" = 'o''mail' AND t."shard" = 3 AND t."fence" = o.fence AND t."locked_by" = $9::text)
RETURNING o.i;
-- erase
DELETE FROM "etl"."import rows" AS t
 USING (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'processing' AND t."queue" = 'o''mail' AND t."shard" = 3 AND t."fence" = o.fence AND t."locked_by" = $3::text)
RETURNING o.i;
-- settle_taken
UPDATE "etl"."import rows" AS t
   SET "status" = o.word::text,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE o.failure END,
       "run_at" = CASE WHEN o.delay IS NULL THEN t."run_at" ELSE clock_timestamp() + o.delay * interval '1 microsecond' END,
       "error" = COALESCE(o.error, t."error"),
       "differences" = CASE WHEN o.written THEN o.r0 ELSE t."differences" END
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[], $8::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, written, r0, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $9::text)
RETURNING o.i;
-- erase_taken
DELETE FROM "etl"."import rows" AS t
 USING (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i;
-- take_again
SELECT o.i, set_config('fila.taken', $1::text, true) FROM unnest($2::bigint[]) WITH ORDINALITY AS o(k, i) CROSS JOIN LATERAL
       (SELECT FROM "etl"."import rows" AS t WHERE t."id" = o.k AND (SELECT t."status" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3) FOR NO KEY UPDATE SKIP LOCKED) AS locked;
-- settle_or_raise
WITH touched AS (
UPDATE "etl"."import rows" AS t
   SET "status" = o.word::text,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE o.failure END,
       "run_at" = CASE WHEN o.delay IS NULL THEN t."run_at" ELSE clock_timestamp() + o.delay * interval '1 microsecond' END,
       "error" = COALESCE(o.error, t."error"),
       "differences" = CASE WHEN o.written THEN o.r0 ELSE t."differences" END
  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[], $8::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, written, r0, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $9::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- erase_or_raise
WITH touched AS (
DELETE FROM "etl"."import rows" AS t
 USING (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3 AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- hold
SELECT o.i FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o CROSS JOIN LATERAL
       (SELECT FROM "etl"."import rows" AS t WHERE t."id" = o.k AND t."queue" = 'o''mail' AND t."shard" = 3 FOR NO KEY UPDATE) AS held;
-- extend
UPDATE "etl"."import rows" AS t
   SET "locked_until" = clock_timestamp() + $1::bigint * interval '1 microsecond'
  FROM (SELECT * FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'processing' AND t."queue" = 'o''mail' AND t."shard" = 3 AND t."fence" = o.fence AND t."locked_by" = $4::text)
RETURNING o.i;
-- rescue
WITH stale AS MATERIALIZED (
  SELECT "id" FROM "etl"."import rows"
   WHERE "status" = 'processing' AND "queue" = 'o''mail' AND "shard" = 3
     AND ("locked_until" < (SELECT clock_timestamp()) OR "locked_until" IS NULL)
   ORDER BY "locked_until" LIMIT $1::bigint FOR NO KEY UPDATE SKIP LOCKED)
UPDATE "etl"."import rows"
   SET "status" = (CASE WHEN COALESCE("crashes", 0) >= $2::bigint - 1 THEN 'dead' ELSE 'pending' END)::text,
       "crashes" = COALESCE("crashes", 0) + CASE WHEN "crashes" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE 1 END,
       "error" = 'lease expired'
 WHERE "id" = ANY(ARRAY(SELECT "id" FROM stale))
RETURNING "status" = 'dead';
-- enqueue
INSERT INTO "etl"."import rows" ("status", "queue", "shard", "run_at", "priority", "fence", "failures", "crashes", "cells", "seen")
SELECT 'pending'::text, 'o''mail', 3, CASE WHEN o.delay IS NULL THEN clock_timestamp() ELSE clock_timestamp() + o.delay * interval '1 microsecond' END, o.priority, 0, 0, 0, o.c0, timestamptz 'epoch' + o.c1 * interval '1 microsecond'
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) WITH ORDINALITY AS o(delay, priority, c0, c1, i);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "etl"."import rows" WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3 AND (tenant = 7 -- {ours} :only
    ) LIMIT $1::bigint) q),
  (SELECT count(*) FROM (SELECT 1 FROM "etl"."import rows" WHERE "status" = 'processing' AND "queue" = 'o''mail' AND "shard" = 3 LIMIT $1::bigint) q),
  (SELECT count(*) FROM (SELECT 1 FROM "etl"."import rows" WHERE "status" = 'dead' AND "queue" = 'o''mail' AND "shard" = 3 LIMIT $1::bigint) q);
-- dead_letters
SELECT "id", "fence", "failures", "crashes", 0, (-"priority") AS fila_1, COALESCE("run_at", '-infinity') AS fila_2, "id" AS fila_3, "cells", CASE WHEN "seen" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "seen") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, "error" FROM "etl"."import rows"
 WHERE "status" = 'dead' AND "queue" = 'o''mail' AND "shard" = 3
 ORDER BY "id" LIMIT $1::bigint;
-- redrive
UPDATE "etl"."import rows" AS t
   SET "status" = 'pending', "failures" = 0, "crashes" = 0, "run_at" = clock_timestamp()
  FROM (SELECT * FROM unnest($1::bigint[]) WITH ORDINALITY AS o(k, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'dead' AND t."queue" = 'o''mail' AND t."shard" = 3)
RETURNING o.i;
-- redrive_all
WITH revived AS (
UPDATE "etl"."import rows" AS t SET "status" = 'pending', "failures" = 0, "crashes" = 0, "run_at" = clock_timestamp()
 WHERE t."status" = 'dead' AND t."queue" = 'o''mail' AND t."shard" = 3
RETURNING 1)
SELECT count(*) FROM revived;
-- next_index
CREATE INDEX "import rows_fila_next" ON "etl"."import rows" ("queue", "shard", (-"priority"), COALESCE("run_at", '-infinity'), "id") WHERE "status" = 'pending';
-- stale_index
CREATE INDEX "import rows_fila_stale" ON "etl"."import rows" ("queue", "shard", "locked_until") WHERE "status" = 'processing';
)sql";

inline constexpr std::string_view postgres_hooks = R"sql(-- claim
WITH next AS MATERIALIZED (
  SELECT "id" FROM "public"."hooks"
   WHERE "state" = 'new'
     AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
   ORDER BY "id" LIMIT $1::bigint FOR NO KEY UPDATE SKIP LOCKED), claimed AS (
UPDATE "public"."hooks"
   SET "state" = 'sending', "updated_at" = GREATEST(clock_timestamp(), "updated_at" + interval '1 microsecond')
 WHERE "id" = ANY(ARRAY(SELECT "id" FROM next))
RETURNING "id", CASE WHEN "updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, 0, 0, 0, "id" AS fila_1, "url")
SELECT * FROM claimed ORDER BY fila_1;
-- claim_after
WITH next AS MATERIALIZED (
  SELECT "id" FROM "public"."hooks"
   WHERE "state" = 'new'
     AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
     AND ("id") > ($1::uuid)
   ORDER BY "id" LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED), claimed AS (
UPDATE "public"."hooks"
   SET "state" = 'sending', "updated_at" = GREATEST(clock_timestamp(), "updated_at" + interval '1 microsecond')
 WHERE "id" = ANY(ARRAY(SELECT "id" FROM next))
RETURNING "id", CASE WHEN "updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, 0, 0, 0, "id" AS fila_1, "url")
SELECT * FROM claimed ORDER BY fila_1;
-- take
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", CASE WHEN "updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, 0, 0, 0, "id" AS fila_1, "url", (SELECT mark FROM pass) FROM "public"."hooks"
 WHERE "state" = 'new'
 ORDER BY "id" LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED;
-- take_after
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "id", CASE WHEN "updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, 0, 0, 0, "id" AS fila_1, "url", (SELECT mark FROM pass) FROM "public"."hooks"
 WHERE "state" = 'new'
   AND ("id") > ($2::uuid)
 ORDER BY "id" LIMIT $3::bigint FOR NO KEY UPDATE SKIP LOCKED;
-- settle
UPDATE "public"."hooks" AS t
   SET "state" = o.word::hook_state,
       "updated_at" = GREATEST(clock_timestamp(), t."updated_at" + interval '1 microsecond')
  FROM (SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'sending' AND CASE WHEN t."updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM t."updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END = o.fence)
RETURNING o.i;
-- erase
DELETE FROM "public"."hooks" AS t
 USING (SELECT * FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'sending' AND CASE WHEN t."updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM t."updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END = o.fence)
RETURNING o.i;
-- settle_taken
UPDATE "public"."hooks" AS t
   SET "state" = o.word::hook_state,
       "updated_at" = GREATEST(clock_timestamp(), t."updated_at" + interval '1 microsecond')
  FROM (SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'new' AND current_setting('fila.taken', true) = $7::text)
RETURNING o.i;
-- erase_taken
DELETE FROM "public"."hooks" AS t
 USING (SELECT * FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'new' AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i;
-- take_again
SELECT o.i, set_config('fila.taken', $1::text, true) FROM unnest($2::uuid[]) WITH ORDINALITY AS o(k, i) CROSS JOIN LATERAL
       (SELECT FROM "public"."hooks" AS t WHERE t."id" = o.k AND (SELECT t."state" = 'new') FOR NO KEY UPDATE SKIP LOCKED) AS locked;
-- settle_or_raise
WITH touched AS (
UPDATE "public"."hooks" AS t
   SET "state" = o.word::hook_state,
       "updated_at" = GREATEST(clock_timestamp(), t."updated_at" + interval '1 microsecond')
  FROM (SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'new' AND current_setting('fila.taken', true) = $7::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- erase_or_raise
WITH touched AS (
DELETE FROM "public"."hooks" AS t
 USING (SELECT * FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'new' AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- hold
SELECT o.i FROM (SELECT * FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o CROSS JOIN LATERAL
       (SELECT FROM "public"."hooks" AS t WHERE t."id" = o.k FOR NO KEY UPDATE) AS held;
-- extend
SELECT o.i FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) CROSS JOIN LATERAL
       (SELECT FROM "public"."hooks" AS t WHERE t."id" = o.k AND (SELECT t."state" = 'sending' AND CASE WHEN t."updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM t."updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END = o.fence) OFFSET 0) AS held;
-- rescue
WITH stale AS MATERIALIZED (
  SELECT "id" FROM "public"."hooks"
   WHERE "state" = 'sending'
     AND ("updated_at" < (SELECT clock_timestamp() - $1::bigint * interval '1 microsecond') OR "updated_at" IS NULL)
   ORDER BY "updated_at" LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED)
UPDATE "public"."hooks"
   SET "state" = 'new',
       "updated_at" = GREATEST(clock_timestamp(), "updated_at" + interval '1 microsecond')
 WHERE "id" = ANY(ARRAY(SELECT "id" FROM stale))
RETURNING false;
-- enqueue
INSERT INTO "public"."hooks" ("state", "updated_at", "id", "url")
SELECT 'new'::hook_state, clock_timestamp(), o.c0, o.c1
  FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::text[]) WITH ORDINALITY AS o(delay, priority, c0, c1, i);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "public"."hooks" WHERE "state" = 'new' LIMIT $1::bigint) q),
  (SELECT count(*) FROM (SELECT 1 FROM "public"."hooks" WHERE "state" = 'sending' LIMIT $1::bigint) q),
  (SELECT count(*) FROM (SELECT 1 FROM "public"."hooks" WHERE "state" = 'gave up' LIMIT $1::bigint) q);
-- dead_letters
SELECT "id", CASE WHEN "updated_at" IS NOT NULL THEN LEAST(GREATEST(extract(epoch FROM "updated_at") * 1000000, -9223372036854775808), 9223372036854774784)::bigint END, 0, 0, 0, "id" AS fila_1, "url" FROM "public"."hooks"
 WHERE "state" = 'gave up'
 ORDER BY "id" LIMIT $1::bigint;
-- redrive
UPDATE "public"."hooks" AS t
   SET "state" = 'new', "updated_at" = GREATEST(clock_timestamp(), t."updated_at" + interval '1 microsecond')
  FROM (SELECT * FROM unnest($1::uuid[]) WITH ORDINALITY AS o(k, i) ORDER BY k) AS o
 WHERE t."id" = ANY(ARRAY[o.k]) AND (SELECT t."state" = 'gave up')
RETURNING o.i;
-- redrive_all
WITH revived AS (
UPDATE "public"."hooks" AS t SET "state" = 'new', "updated_at" = GREATEST(clock_timestamp(), t."updated_at" + interval '1 microsecond')
 WHERE t."state" = 'gave up'
RETURNING 1)
SELECT count(*) FROM revived;
-- next_index
CREATE INDEX "hooks_fila_next" ON "public"."hooks" ("id") WHERE "state" = 'new';
-- stale_index
CREATE INDEX "hooks_fila_stale" ON "public"."hooks" ("updated_at") WHERE "state" = 'sending';
)sql";

inline constexpr std::string_view postgres_payments = R"sql(-- take
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "code", 0, 0, 0, 0, "code" AS fila_1, "cents", (SELECT mark FROM pass) FROM "billing"."payments"
 WHERE "status" = 'pending'
 ORDER BY "code" LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED;
-- take_after
WITH pass AS MATERIALIZED (SELECT clock_timestamp() AS start, set_config('fila.taken', $1::text, true) AS mark)
SELECT "code", 0, 0, 0, 0, "code" AS fila_1, "cents", (SELECT mark FROM pass) FROM "billing"."payments"
 WHERE "status" = 'pending'
   AND ("code") > ($2::text)
 ORDER BY "code" LIMIT $3::bigint FOR NO KEY UPDATE SKIP LOCKED;
-- settle_taken
UPDATE "billing"."payments" AS t
   SET "status" = o.word::text
  FROM (SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i) ORDER BY k) AS o
 WHERE t."code" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $7::text)
RETURNING o.i;
-- erase_taken
DELETE FROM "billing"."payments" AS t
 USING (SELECT * FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."code" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i;
-- take_again
SELECT o.i, set_config('fila.taken', $1::text, true) FROM unnest($2::text[]) WITH ORDINALITY AS o(k, i) CROSS JOIN LATERAL
       (SELECT FROM "billing"."payments" AS t WHERE t."code" = o.k AND (SELECT t."status" = 'pending') FOR NO KEY UPDATE SKIP LOCKED) AS locked;
-- settle_or_raise
WITH touched AS (
UPDATE "billing"."payments" AS t
   SET "status" = o.word::text
  FROM (SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) WITH ORDINALITY AS o(k, fence, word, delay, failure, error, i) ORDER BY k) AS o
 WHERE t."code" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $7::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- erase_or_raise
WITH touched AS (
DELETE FROM "billing"."payments" AS t
 USING (SELECT * FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS o(k, fence, i) ORDER BY k) AS o
 WHERE t."code" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'pending' AND current_setting('fila.taken', true) = $3::text)
RETURNING o.i)
SELECT CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || count(*))::integer END FROM touched;
-- enqueue
INSERT INTO "billing"."payments" ("status", "code", "cents")
SELECT 'pending'::text, o.c0, o.c1
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) WITH ORDINALITY AS o(delay, priority, c0, c1, i);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "billing"."payments" WHERE "status" = 'pending' LIMIT $1::bigint) q),
  (SELECT count(*) FROM (SELECT 1 FROM "billing"."payments" WHERE "status" = 'processing' LIMIT $1::bigint) q),
  (SELECT count(*) FROM (SELECT 1 FROM "billing"."payments" WHERE "status" = 'dead' LIMIT $1::bigint) q);
-- dead_letters
SELECT "code", 0, 0, 0, 0, "code" AS fila_1, "cents" FROM "billing"."payments"
 WHERE "status" = 'dead'
 ORDER BY "code" LIMIT $1::bigint;
-- redrive
UPDATE "billing"."payments" AS t
   SET "status" = 'pending'
  FROM (SELECT * FROM unnest($1::text[]) WITH ORDINALITY AS o(k, i) ORDER BY k) AS o
 WHERE t."code" = ANY(ARRAY[o.k]) AND (SELECT t."status" = 'dead')
RETURNING o.i;
-- redrive_all
WITH revived AS (
UPDATE "billing"."payments" AS t SET "status" = 'pending'
 WHERE t."status" = 'dead'
RETURNING 1)
SELECT count(*) FROM revived;
-- next_index
CREATE INDEX "payments_fila_next" ON "billing"."payments" ("code") WHERE "status" = 'pending';
)sql";

inline constexpr std::string_view plain_imports = R"sql(-- claim
WITH next AS MATERIALIZED (
  SELECT "id" FROM "etl"."import rows"
   WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
     AND COALESCE("run_at", 0) <= :now
     AND (tenant = 7 -- {ours} :only
     )
   ORDER BY (-"priority"), COALESCE("run_at", 0), "id" LIMIT :n )
UPDATE "etl"."import rows"
   SET "status" = 'processing', "locked_until" = :now + :lease, "fence" = CASE WHEN "fence" IN (2147483647, 9223372036854775807) THEN 1 ELSE COALESCE("fence", 0) + 1 END, "locked_by" = :owner
 WHERE "id" IN (SELECT "id" FROM next)
RETURNING "id", "fence", "failures", "crashes", :now, (-"priority") AS fila_1, COALESCE("run_at", 0) AS fila_2, "id" AS fila_3, "cells", "seen";
-- claim_after
WITH next AS MATERIALIZED (
  SELECT "id" FROM "etl"."import rows"
   WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
     AND COALESCE("run_at", 0) <= :start
     AND (tenant = 7 -- {ours} :only
     )
     AND ((-"priority"), COALESCE("run_at", 0), "id") > (:after_priority, :after_due, :after_key)
   ORDER BY (-"priority"), COALESCE("run_at", 0), "id" LIMIT :n )
UPDATE "etl"."import rows"
   SET "status" = 'processing', "locked_until" = :now + :lease, "fence" = CASE WHEN "fence" IN (2147483647, 9223372036854775807) THEN 1 ELSE COALESCE("fence", 0) + 1 END, "locked_by" = :owner
 WHERE "id" IN (SELECT "id" FROM next)
RETURNING "id", "fence", "failures", "crashes", 0, (-"priority") AS fila_1, COALESCE("run_at", 0) AS fila_2, "id" AS fila_3, "cells", "seen";
-- take
SELECT "id", "fence", "failures", "crashes", :now, (-"priority") AS fila_1, COALESCE("run_at", 0) AS fila_2, "id" AS fila_3, "cells", "seen" FROM "etl"."import rows"
 WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
   AND COALESCE("run_at", 0) <= :now
   AND (tenant = 7 -- {ours} :only
   )
 ORDER BY (-"priority"), COALESCE("run_at", 0), "id" LIMIT :n;
-- take_after
SELECT "id", "fence", "failures", "crashes", 0, (-"priority") AS fila_1, COALESCE("run_at", 0) AS fila_2, "id" AS fila_3, "cells", "seen" FROM "etl"."import rows"
 WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3
   AND COALESCE("run_at", 0) <= :start
   AND (tenant = 7 -- {ours} :only
   )
   AND ((-"priority"), COALESCE("run_at", 0), "id") > (:after_priority, :after_due, :after_key)
 ORDER BY (-"priority"), COALESCE("run_at", 0), "id" LIMIT :n;
-- settle
UPDATE "etl"."import rows" AS t
   SET "status" = :word,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE :failure END,
       "run_at" = CASE WHEN :delay IS NULL THEN t."run_at" ELSE :now + :delay END,
       "error" = COALESCE(:error, t."error"),
       "differences" = CASE WHEN :written THEN :r0 ELSE t."differences" END
 WHERE t."id" = :k AND t."status" = 'processing' AND t."queue" = 'o''mail' AND t."shard" = 3 AND t."fence" = :fence AND t."locked_by" = :owner;
-- erase
DELETE FROM "etl"."import rows" AS t
 WHERE t."id" = :k AND t."status" = 'processing' AND t."queue" = 'o''mail' AND t."shard" = 3 AND t."fence" = :fence AND t."locked_by" = :owner;
-- settle_taken
UPDATE "etl"."import rows" AS t
   SET "status" = :word,
       "failures" = COALESCE(t."failures", 0) + CASE WHEN t."failures" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE :failure END,
       "run_at" = CASE WHEN :delay IS NULL THEN t."run_at" ELSE :now + :delay END,
       "error" = COALESCE(:error, t."error"),
       "differences" = CASE WHEN :written THEN :r0 ELSE t."differences" END
 WHERE t."id" = :k AND t."status" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3;
-- erase_taken
DELETE FROM "etl"."import rows" AS t
 WHERE t."id" = :k AND t."status" = 'pending' AND t."queue" = 'o''mail' AND t."shard" = 3;
-- extend
UPDATE "etl"."import rows" AS t
   SET "locked_until" = :now + :lease
 WHERE t."id" = :k AND t."status" = 'processing' AND t."queue" = 'o''mail' AND t."shard" = 3 AND t."fence" = :fence AND t."locked_by" = :owner;
-- rescue
WITH stale AS MATERIALIZED (
  SELECT "id" FROM "etl"."import rows"
   WHERE "status" = 'processing' AND "queue" = 'o''mail' AND "shard" = 3
     AND ("locked_until" < :now OR "locked_until" IS NULL)
   ORDER BY "locked_until" LIMIT :n )
UPDATE "etl"."import rows"
   SET "status" = (CASE WHEN COALESCE("crashes", 0) >= :max_crashes - 1 THEN 'dead' ELSE 'pending' END),
       "crashes" = COALESCE("crashes", 0) + CASE WHEN "crashes" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE 1 END,
       "error" = 'lease expired'
 WHERE "id" IN (SELECT "id" FROM stale)
RETURNING "status" = 'dead';
-- enqueue
INSERT INTO "etl"."import rows" ("status", "queue", "shard", "run_at", "priority", "fence", "failures", "crashes", "cells", "seen")
VALUES ('pending', 'o''mail', 3, CASE WHEN :delay IS NULL THEN :now ELSE :now + :delay END, :priority, 0, 0, 0, :c0, :c1);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "etl"."import rows" WHERE "status" = 'pending' AND "queue" = 'o''mail' AND "shard" = 3 AND (tenant = 7 -- {ours} :only
    ) LIMIT :n) q),
  (SELECT count(*) FROM (SELECT 1 FROM "etl"."import rows" WHERE "status" = 'processing' AND "queue" = 'o''mail' AND "shard" = 3 LIMIT :n) q),
  (SELECT count(*) FROM (SELECT 1 FROM "etl"."import rows" WHERE "status" = 'dead' AND "queue" = 'o''mail' AND "shard" = 3 LIMIT :n) q);
-- dead_letters
SELECT "id", "fence", "failures", "crashes", 0, (-"priority") AS fila_1, COALESCE("run_at", 0) AS fila_2, "id" AS fila_3, "cells", "seen", "error" FROM "etl"."import rows"
 WHERE "status" = 'dead' AND "queue" = 'o''mail' AND "shard" = 3
 ORDER BY "id" LIMIT :n;
-- redrive
UPDATE "etl"."import rows" AS t
   SET "status" = 'pending', "failures" = 0, "crashes" = 0, "run_at" = :now
 WHERE t."id" = :k AND t."status" = 'dead' AND t."queue" = 'o''mail' AND t."shard" = 3;
-- redrive_all
UPDATE "etl"."import rows" AS t SET "status" = 'pending', "failures" = 0, "crashes" = 0, "run_at" = :now
 WHERE t."status" = 'dead' AND t."queue" = 'o''mail' AND t."shard" = 3
RETURNING 1;
-- next_index
CREATE INDEX "etl"."import rows_fila_next" ON "import rows" ("queue", "shard", (-"priority"), COALESCE("run_at", 0), "id") WHERE "status" = 'pending';
-- stale_index
CREATE INDEX "etl"."import rows_fila_stale" ON "import rows" ("queue", "shard", "locked_until") WHERE "status" = 'processing';
)sql";

inline constexpr std::string_view plain_payments = R"sql(-- take
SELECT "code", 0, 0, 0, 0, "code" COLLATE BINARY AS fila_1, "cents" FROM "billing"."payments"
 WHERE "status" = 'pending'
 ORDER BY "code" COLLATE BINARY LIMIT :n;
-- take_after
SELECT "code", 0, 0, 0, 0, "code" COLLATE BINARY AS fila_1, "cents" FROM "billing"."payments"
 WHERE "status" = 'pending'
   AND ("code" COLLATE BINARY) > (:after_key)
 ORDER BY "code" COLLATE BINARY LIMIT :n;
-- settle_taken
UPDATE "billing"."payments" AS t
   SET "status" = :word
 WHERE t."code" = :k AND t."status" = 'pending';
-- erase_taken
DELETE FROM "billing"."payments" AS t
 WHERE t."code" = :k AND t."status" = 'pending';
-- enqueue
INSERT INTO "billing"."payments" ("status", "code", "cents")
VALUES ('pending', :c0, :c1);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "billing"."payments" WHERE "status" = 'pending' LIMIT :n) q),
  (SELECT count(*) FROM (SELECT 1 FROM "billing"."payments" WHERE "status" = 'processing' LIMIT :n) q),
  (SELECT count(*) FROM (SELECT 1 FROM "billing"."payments" WHERE "status" = 'dead' LIMIT :n) q);
-- dead_letters
SELECT "code", 0, 0, 0, 0, "code" COLLATE BINARY AS fila_1, "cents" FROM "billing"."payments"
 WHERE "status" = 'dead'
 ORDER BY "code" LIMIT :n;
-- redrive
UPDATE "billing"."payments" AS t
   SET "status" = 'pending'
 WHERE t."code" = :k AND t."status" = 'dead';
-- redrive_all
UPDATE "billing"."payments" AS t SET "status" = 'pending'
 WHERE t."status" = 'dead'
RETURNING 1;
-- next_index
CREATE INDEX "billing"."payments_fila_next" ON "payments" ("code" COLLATE BINARY) WHERE "status" = 'pending';
)sql";

inline constexpr std::string_view plain_fleeting = R"sql(-- claim
WITH next AS MATERIALIZED (
  SELECT "code" FROM "fleeting"
   WHERE "status" = 'pending'
   ORDER BY "code" COLLATE BINARY LIMIT :n )
UPDATE "fleeting"
   SET "status" = 'processing', "lease_until" = :now + :lease, "fence" = CASE WHEN "fence" IN (2147483647, 9223372036854775807) THEN 1 ELSE COALESCE("fence", 0) + 1 END
 WHERE "code" IN (SELECT "code" FROM next)
RETURNING "code", "fence", 0, "crashes", 0, "code" COLLATE BINARY AS fila_1;
-- claim_after
WITH next AS MATERIALIZED (
  SELECT "code" FROM "fleeting"
   WHERE "status" = 'pending'
     AND ("code" COLLATE BINARY) > (:after_key)
   ORDER BY "code" COLLATE BINARY LIMIT :n )
UPDATE "fleeting"
   SET "status" = 'processing', "lease_until" = :now + :lease, "fence" = CASE WHEN "fence" IN (2147483647, 9223372036854775807) THEN 1 ELSE COALESCE("fence", 0) + 1 END
 WHERE "code" IN (SELECT "code" FROM next)
RETURNING "code", "fence", 0, "crashes", 0, "code" COLLATE BINARY AS fila_1;
-- take
SELECT "code", "fence", 0, "crashes", 0, "code" COLLATE BINARY AS fila_1 FROM "fleeting"
 WHERE "status" = 'pending'
 ORDER BY "code" COLLATE BINARY LIMIT :n;
-- take_after
SELECT "code", "fence", 0, "crashes", 0, "code" COLLATE BINARY AS fila_1 FROM "fleeting"
 WHERE "status" = 'pending'
   AND ("code" COLLATE BINARY) > (:after_key)
 ORDER BY "code" COLLATE BINARY LIMIT :n;
-- settle
UPDATE "fleeting" AS t
   SET "status" = :word
 WHERE t."code" = :k AND t."status" = 'processing' AND t."fence" = :fence;
-- erase
DELETE FROM "fleeting" AS t
 WHERE t."code" = :k AND t."status" = 'processing' AND t."fence" = :fence;
-- settle_taken
UPDATE "fleeting" AS t
   SET "status" = :word
 WHERE t."code" = :k AND t."status" = 'pending';
-- erase_taken
DELETE FROM "fleeting" AS t
 WHERE t."code" = :k AND t."status" = 'pending';
-- extend
UPDATE "fleeting" AS t
   SET "lease_until" = :now + :lease
 WHERE t."code" = :k AND t."status" = 'processing' AND t."fence" = :fence;
-- rescue
WITH stale AS MATERIALIZED (
  SELECT "code" FROM "fleeting"
   WHERE "status" = 'processing'
     AND ("lease_until" < :now OR "lease_until" IS NULL)
     AND COALESCE("crashes", 0) < :max_crashes - 1
   ORDER BY "lease_until" LIMIT :n )
UPDATE "fleeting"
   SET "status" = 'pending',
       "crashes" = COALESCE("crashes", 0) + CASE WHEN "crashes" IN (32767, 2147483647, 9223372036854775807) THEN 0 ELSE 1 END
 WHERE "code" IN (SELECT "code" FROM stale)
RETURNING false;
-- rescue_erase
WITH stale AS MATERIALIZED (
  SELECT "code" FROM "fleeting"
   WHERE "status" = 'processing'
     AND ("lease_until" < :now OR "lease_until" IS NULL)
     AND COALESCE("crashes", 0) >= :max_crashes - 1
   ORDER BY "lease_until" LIMIT :n )
DELETE FROM "fleeting"
 WHERE "code" IN (SELECT "code" FROM stale)
RETURNING true;
-- enqueue
INSERT INTO "fleeting" ("status", "fence", "crashes", "code")
VALUES ('pending', 0, 0, :c0);
-- counts
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "fleeting" WHERE "status" = 'pending' LIMIT :n) q),
  (SELECT count(*) FROM (SELECT 1 FROM "fleeting" WHERE "status" = 'processing' LIMIT :n) q),
  0;
-- next_index
CREATE INDEX "fleeting_fila_next" ON "fleeting" ("code" COLLATE BINARY) WHERE "status" = 'pending';
-- stale_index
CREATE INDEX "fleeting_fila_stale" ON "fleeting" ("lease_until") WHERE "status" = 'processing';
)sql";

}  // namespace golden
