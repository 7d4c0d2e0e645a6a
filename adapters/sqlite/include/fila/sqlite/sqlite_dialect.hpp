// SPDX-License-Identifier: MIT
// SQLite's words. Times are what your columns hold: microseconds, seconds or text; the host's clock is
// `:now`.
#pragma once

#include <fila/table/dialect.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace fila::inline v1::sqlite {

/// What the time columns of a table hold. Text is 'YYYY-MM-DD HH:MM:SS.SSS', UTC, of the years 0 to 9999: an
/// Instant of yours beyond them is written as NULL. Seconds and text are rounded up where a wait must not be
/// shorter than asked.
enum class TimeFormat : std::uint8_t {
    unix_micros,   ///< an INTEGER; the only one that loses nothing
    unix_seconds,  ///< an INTEGER
    text,          ///< a TEXT, for people
};

namespace detail {

inline Dialect seconds_dialect(Dialect d) {
    d.now = d.bound_now = d.pass_now = ":now / 1000000";
    d.until = "(:now + :lease + 999999) / 1000000";
    d.later = "(:now + {o}delay + 999999) / 1000000";
    d.stale = "(:now - :lease) / 1000000";
    d.pass_start = ":start / 1000000";
    d.micros = [](std::string const& column) { return column + " * 1000000"; };
    d.instant = [](std::string const& micros) { return micros + " / 1000000"; };
    d.ticked = [](std::string const& column) {
        return "max(:now / 1000000, COALESCE(" + column + " + 1, 0))";
    };
    return d;
}

/// Milliseconds are what strftime writes and julianday reads back.
inline std::string time_text(std::string const& millis) {
    return "strftime('%Y-%m-%d %H:%M:%f', (" + millis + ") / 1e3, 'unixepoch')";
}
inline Dialect text_dialect(Dialect d) {
    d.time_type = "TEXT";
    d.now = d.bound_now = d.pass_now = time_text(":now / 1000");
    d.until = time_text("(:now + :lease + 999) / 1000");
    d.later = time_text("(:now + {o}delay + 999) / 1000");
    d.stale = time_text("(:now - :lease) / 1000");
    d.pass_start = time_text(":start / 1000");
    d.earliest = "''";
    d.micros = [](std::string const& column) {
        return "CAST(round((julianday(" + column + ") - 2440587.5) * 86400000) AS INTEGER) * 1000";
    };
    // Beyond these years SQLite writes something, and reads it as another day.
    d.instant = [](std::string const& micros) {
        return "CASE WHEN " + micros + " >= -62167219200000000 AND " + micros +
               " < 253402300800000000 THEN " + time_text(micros + " / 1000") + " END";
    };
    d.ticked = [](std::string const& column) {
        return "max(" + time_text(":now / 1000") + ", COALESCE(strftime('%Y-%m-%d %H:%M:%f', " + column +
               ", '+0.001 seconds'), ''))";
    };
    return d;
}

}  // namespace detail

/// For SQLite 3.35 and later (RETURNING).
[[nodiscard]] inline Dialect sqlite_dialect(TimeFormat times = TimeFormat::unix_micros) {
    Dialect d;
    d.name = "sqlite";
    d.time_type = "INTEGER";
    d.types = {"INTEGER", "REAL", "INTEGER", "TEXT", "BLOB", "TEXT", "INTEGER"};
    d.now = d.bound_now = d.pass_now = d.pass_micros = ":now";
    d.until = ":now + :lease";
    d.later = ":now + {o}delay";
    d.stale = ":now - :lease";
    d.pass_start = ":start";
    d.earliest = "0";
    d.after_due = ":after_due";
    d.among = "IN (#)";
    d.ordinal = ":i";
    d.text_order = " COLLATE BINARY";  // the order in which SqlStore sorts a batch, whatever the column's is
    d.micros = [](std::string const& column) { return column; };
    d.instant = [](std::string const& micros) { return micros; };
    d.ticked = [](std::string const& column) { return "max(:now, COALESCE(" + column + " + 1, 0))"; };
    if (times == TimeFormat::unix_seconds) return detail::seconds_dialect(std::move(d));
    if (times == TimeFormat::text) return detail::text_dialect(std::move(d));
    return d;
}

}  // namespace fila::inline v1::sqlite
