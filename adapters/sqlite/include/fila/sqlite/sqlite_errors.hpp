// SPDX-License-Identifier: MIT
// SQLite's result codes as fila::Error: may I try again, may it have happened, and what a person can do.
#pragma once

#include <fila/types/error.hpp>

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace fila::inline v1::sqlite {

/// Whether the same call may succeed later. `code` may be an extended one.
[[nodiscard]] constexpr bool is_retryable(int code) noexcept {
    if (code == SQLITE_READONLY_DBMOVED) return true;
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_FULL:
        case SQLITE_IOERR:
        case SQLITE_NOMEM:
        case SQLITE_INTERRUPT:
        case SQLITE_PROTOCOL:
            return true;
        default:
            return false;
    }
}
/// Whether a connection that answered so is better opened anew.
[[nodiscard]] constexpr bool is_broken(int code) noexcept {
    if (code == SQLITE_READONLY_DBMOVED) return true;
    switch (code & 0xff) {
        case SQLITE_IOERR:
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_CANTOPEN:
            return true;
        default:
            return false;
    }
}
/// Whether a constraint or a trigger refused what was written.
[[nodiscard]] inline bool is_conflict(Error const& e) {
    return !e.code().empty() && (std::stoi(e.code()) & 0xff) == SQLITE_CONSTRAINT;
}
/// What a person can do, to be put behind the message; may be empty.
[[nodiscard]] constexpr std::string_view advice(int code) noexcept {
    if (code == SQLITE_READONLY_DBMOVED)
        return "; the file was moved, deleted or replaced while it was open: put it back";
    switch (code & 0xff) {
        case SQLITE_BUSY:
            return "; another connection held the write lock for longer than busy_timeout";
        case SQLITE_FULL:
            return "; the disk is full, or max_page_count is reached";
        case SQLITE_READONLY:
            return "; the file and its directory must be writable";
        case SQLITE_CANTOPEN:
            return "; does the directory exist, is the file in it, and may we write there?";
        case SQLITE_CORRUPT:
            return "; run PRAGMA integrity_check, and restore a backup";
        case SQLITE_NOTADB:
            return "; the file is something else";
        default:
            return "";
    }
}

/// `doing` says what we were at. `db` may be null (no memory to open).
[[nodiscard]] inline Error make_error(sqlite3* db, int code, std::string_view doing,
                                      bool committing = false) {
    int const extended =
        db != nullptr && sqlite3_errcode(db) != SQLITE_OK ? sqlite3_extended_errcode(db) : code;
    std::string what{"fila sqlite: "};
    what += doing;
    what += ": ";
    what += db != nullptr && sqlite3_errcode(db) != SQLITE_OK ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    what += advice(code);
    return Error{what,
                 {.retryable = is_retryable(code),
                  .maybe_applied = committing && (code & 0xff) == SQLITE_IOERR,
                  .code = std::to_string(extended)}};
}

}  // namespace fila::inline v1::sqlite
