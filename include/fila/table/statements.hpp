// SPDX-License-Identifier: MIT
// Every SQL statement of the SQL stores, written once, to be read as SQL. See sql_template.hpp for the holes.
//
// Many rows at once: PostgreSQL joins arrays as `o`, in key order, so that settles and extends lock in that
// order and never deadlock. The join is written so that the planner has one way, a lookup by key for each row
// that was sent: an array of one key can neither be hashed nor merged, and what a subquery asks is no reason
// to begin with the table, or with a partial index on the status. SQLite saves no round trips that way and
// runs the statement once a row: {o}word is o.word there and :word here. (What ends with VALUES (…), its driver makes an
// INSERT of many rows of.) It says whether the row was touched without a RETURNING, which would make a temporary table
// each time: that takes as long as the write.
#pragma once

#include <fila/table/statement.hpp>

#include <string>
#include <string_view>

namespace fila::inline v1 {

/// The rendered statements of one mapping in one dialect. Empty where the mapping does not carry the verb.
struct Statements {
    /// Of leases; of transactions (`take`). The first of a pass, and the later ones behind a cursor.
    Statement claim, claim_after, take, take_after;
    /// Under a lease; in a transaction (`_taken`), after a rollback (`take_again`). Erased words delete.
    Statement settle, erase, settle_taken, erase_taken, take_again;
    /// The same, failing where they touch no row: for a message that goes on with the commit.
    Statement settle_or_raise, erase_or_raise;
    /// Locks what the two of a transaction will write, in the order in which all do.
    Statement hold;
    /// Leases: kept, and found when they ran out.
    Statement extend, rescue, rescue_erase;
    /// How rows enter, and what people ask and do.
    Statement enqueue, counts, dead_letters, redrive, redrive_all;
    /// DDL: the index that claims need, the index that rescues need.
    Statement next_index, stale_index;
    Statement stale_probe;  ///< what rescue looks for, to ask the planner

    /// Calls `f(name, statement)` for each one that is there: print them, review them, EXPLAIN them.
    template <class F>
    void each(F f) const {
        auto one = [&](char const* name, Statement const& statement) {
            if (!statement.empty()) f(name, statement);
        };
        one("claim", claim), one("claim_after", claim_after), one("take", take),
            one("take_after", take_after);
        one("settle", settle), one("erase", erase), one("settle_taken", settle_taken),
            one("erase_taken", erase_taken), one("take_again", take_again);
        one("settle_or_raise", settle_or_raise), one("erase_or_raise", erase_or_raise);
        one("hold", hold), one("extend", extend), one("rescue", rescue), one("rescue_erase", rescue_erase);
        one("enqueue", enqueue), one("counts", counts), one("dead_letters", dead_letters);
        one("redrive", redrive), one("redrive_all", redrive_all);
        one("next_index", next_index), one("stale_index", stale_index);
    }
};

namespace detail::sql {

// Leased: mark and return, in one statement. `next` locks at most :n rows in claim order; the update finds
// them by key. The first claim of a pass reads the clock once and returns it; the later ones ask for rows due
// by then. It waits for no disk where that is safe: the settle's commit, which is later in the log, takes it along, and
// a crash in between leaves a row that nobody has settled pending, as if its worker had died.
inline constexpr std::string_view claim = R"(WITH {pass}next AS MATERIALIZED (
  SELECT {key} FROM {table}
   WHERE {status} = {pending}{fixed}{unsynced?
     AND {unsynced}}{due_at?
     AND {due} <= {start}}{where?
     AND ({where}
     )}{after?
     AND ({order}) > ({cursor})}
   ORDER BY {order} LIMIT :n {skip_locked}){postgres?, claimed AS (}
UPDATE {table}
   SET {status} = {processing}{lease_until?, {lease_until} = {until}}{fence?, {fence} = {next_fence}}{owner?, {owner} = :owner}{updated_at?, {updated_at} = {ticked}}
 WHERE {key} {among_next}
RETURNING {returning}{postgres?)
SELECT * FROM claimed ORDER BY {order_out}})";

// InTransaction: lock only; the status is written by settle_taken in the same transaction.
inline constexpr std::string_view take = R"({pass}SELECT {returning} FROM {table}
 WHERE {status} = {pending}{fixed}{due_at?
   AND {due} <= {start}}{where?
   AND ({where}
   )}{after?
   AND ({order}) > ({cursor})}
 ORDER BY {order} LIMIT :n {skip_locked})";

// What a transaction held that had to be rolled back: those of the rows that nobody else has, or has changed.
inline constexpr std::string_view take_again =
    R"(SELECT {ordinal}, set_config('fila.taken', :guard, true) FROM {o_redrive} CROSS JOIN LATERAL
       (SELECT FROM {table} AS t WHERE t.{key} = o.k AND (SELECT {takeable}) FOR NO KEY UPDATE SKIP LOCKED) AS locked)";

inline constexpr std::string_view settle = R"(UPDATE {table} AS t
   SET {changes}{postgres?
  FROM (SELECT * FROM {o_settle} ORDER BY k) AS o}
 WHERE {mine}{postgres?
RETURNING {ordinal}})";
inline constexpr std::string_view changes = R"({status} = {o}word{cast}{failures?,
       {failures} = COALESCE(t.{failures}, 0) + CASE WHEN t.{failures} {full} THEN 0 ELSE {o}failure END}{due_at?,
       {due_at} = CASE WHEN {o}delay IS NULL THEN t.{due_at} ELSE {later} END}{last_error?,
       {last_error} = COALESCE({o}error, t.{last_error})}{updated_at?,
       {updated_at} = {ticked_t}}{outputs})";

inline constexpr std::string_view erase = R"(DELETE FROM {table} AS t{postgres?
 USING (SELECT * FROM {o_keys} ORDER BY k) AS o}
 WHERE {mine}{postgres?
RETURNING {ordinal}})";

inline constexpr std::string_view hold =
    R"(SELECT {ordinal} FROM (SELECT * FROM {o_keys} ORDER BY k) AS o CROSS JOIN LATERAL
       (SELECT FROM {table} AS t WHERE t.{key} = o.k{fixed_t} FOR NO KEY UPDATE) AS held)";

inline constexpr std::string_view extend = R"(UPDATE {table} AS t
   SET {lease_until} = {until}{postgres?
  FROM (SELECT * FROM {o_keys} ORDER BY k) AS o}
 WHERE {mine}{postgres?
RETURNING {ordinal}})";

// Without a lease column nothing can be extended: the age is the fence, and moving it would lose the row to
// ourselves. This only tells whose the row is.
inline constexpr std::string_view still_ours =
    R"(SELECT {ordinal} FROM {postgres?{o_keys} CROSS JOIN LATERAL
       (SELECT FROM {table} AS t WHERE t.{key} = o.k AND (SELECT {owned}) OFFSET 0) AS held}{sqlite?{table} AS t
 WHERE t.{key} = :k AND {owned}})";

// The largest values of the integer types. Who else writes the column may have left one there, and a claim
// that overflows would fail for every row of its batch, for ever. A counter stays there; a fence begins anew.
inline constexpr std::string_view full = "IN (32767, 2147483647, 9223372036854775807)";
inline constexpr std::string_view next_fence =
    "CASE WHEN {fence} IN (2147483647, 9223372036854775807) THEN 1 ELSE COALESCE({fence}, 0) + 1 END";

// A processing row whose lease ran out (or is NULL) goes back to pending, or to the dead letters at the cap.
// Ordered by the lease: by key, the planner would walk the primary key.
inline constexpr std::string_view stale = R"(SELECT {key} FROM {table}
   WHERE {status} = {processing}{fixed}{lease_until?
     AND ({lease_until} < {bound_now} OR {lease_until} IS NULL)}{!lease_until?
     AND ({updated_at} < {stale} OR {updated_at} IS NULL)}{cap?
     AND {cap}}
   ORDER BY {lease} LIMIT :n {skip_locked})";

inline constexpr std::string_view rescue = R"(WITH stale AS MATERIALIZED (
  {stale_rows})
UPDATE {table}
   SET {status} = {mortal?(CASE WHEN COALESCE({crashes}, 0) >= :max_crashes - 1 THEN {dead} ELSE {pending} END){cast}}{!mortal?{pending}}{crashes?,
       {crashes} = COALESCE({crashes}, 0) + CASE WHEN {crashes} {full} THEN 0 ELSE 1 END}{last_error?,
       {last_error} = 'lease expired'}{updated_at?,
       {updated_at} = {ticked}}
 WHERE {key} {among_stale}
RETURNING {mortal?{status} = {dead}}{!mortal?false})";

inline constexpr std::string_view rescue_erase = R"(WITH stale AS MATERIALIZED (
  {stale_rows})
DELETE FROM {table}
 WHERE {key} {among_stale}
RETURNING true)";

inline constexpr std::string_view enqueue =
    R"(INSERT INTO {table} ({status}{fixed_columns}{due_at?, {due_at}}{priority?, {priority}}{fence?, {fence}}{failures?, {failures}}{crashes?, {crashes}}{updated_at?, {updated_at}}{insert_columns})
{postgres?SELECT }{sqlite?VALUES (}{pending}{cast}{fixed_values}{due_at?, CASE WHEN {o}delay IS NULL THEN {now} ELSE {later} END}{priority?, {o}priority}{fence?, {first_fence}}{failures?, 0}{crashes?, 0}{updated_at?, {now}}{insert_values}{sqlite?)}{postgres?
  FROM {o_enqueue}})";

inline constexpr std::string_view counts = R"(SELECT
  (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {status} = {pending}{fixed}{where? AND ({where}
    )} LIMIT :n) q),
  (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {status} = {processing}{fixed} LIMIT :n) q),
  {buried?(SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {status} = {dead}{fixed} LIMIT :n) q)}{!buried?0})";

inline constexpr std::string_view dead_letters = R"(SELECT {returning}{last_error?, {last_error}} FROM {table}
 WHERE {status} = {dead}{fixed}
 ORDER BY {key} LIMIT :n)";

inline constexpr std::string_view redrive = R"(UPDATE {table} AS t
   SET {revived}{postgres?
  FROM (SELECT * FROM {o_redrive} ORDER BY k) AS o}
 WHERE {mine}{postgres?
RETURNING {ordinal}})";

inline constexpr std::string_view redrive_all = R"({postgres?WITH revived AS (
}UPDATE {table} AS t SET {revived}
 WHERE {owned}
RETURNING 1{postgres?)
SELECT count(*) FROM revived})";

inline constexpr std::string_view revived =
    "{status} = {pending}{failures?, {failures} = 0}{crashes?, {crashes} = 0}{due_at?, {due_at} = "
    "{now}}{updated_at?, "
    "{updated_at} = {ticked_t}}";

}  // namespace detail::sql
}  // namespace fila::inline v1
