// SPDX-License-Identifier: MIT
// What a live database says about a table, and what verify() and doctor() find in it.
#pragma once

#include <fila/config.hpp>

#include <string>
#include <vector>

namespace fila::inline v1 {

/// What a driver reads from pg_catalog or from SQLite's pragmas. A list that a database cannot fill stays
/// empty.
struct Catalogue {
    /// One column of the live table.
    struct Column {
        std::string name;  ///< as it is, without quotes
        std::string
            type;  ///< as the database prints it, e.g. "timestamp with time zone", "character varying(20)"
        bool not_null = false;              ///< NULL is refused
        bool has_default = false;           ///< or is an identity, or the rowid
        std::vector<std::string> labels{};  ///< of an enum type, in its order
        std::vector<std::string> denied{};  ///< of SELECT, INSERT, UPDATE, where other columns are not
    };

    bool exists = false;                             ///< false: everything else is empty
    std::vector<Column> columns{};                   ///< in any order
    std::vector<std::vector<std::string>> unique{};  ///< columns of each primary key and full unique index
    std::vector<std::string> update_triggers{};      ///< that run on UPDATE, by name
    std::vector<std::string> triggers{};             ///< all that are enabled, by name
    bool row_security = false;                       ///< rows may be hidden from us
    std::vector<std::string> partition_key{};        ///< columns
    std::vector<std::string> checks{};               ///< CHECK constraints, as the database prints them
    std::vector<std::string> denied{};  ///< of SELECT, INSERT, UPDATE, DELETE: what we may do nowhere
    std::vector<std::string> denied_sequences{};  ///< that give defaults and that we may not use, quoted
    std::string role{};                           ///< who we are, quoted
};

/// One mismatch between a mapping and a live table, or one thing that slows or stops a queue.
struct Finding {
    bool fatal = false;  ///< the store would not work; the constructor throws all fatal ones at once
    std::string what;    ///< a sentence for a person
    std::string mend;    ///< the statement, or the change of the mapping, that mends it; may be empty. What
                         ///< follows "   -- " is said to people
};

}  // namespace fila::inline v1
