// SPDX-License-Identifier: MIT
// Dialect: what two databases say differently, as a value of some twenty words. All other SQL is common.
#pragma once

#include <fila/table/codec.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// Words are SQL expressions. They may hold parameters (`:lease`, `:now`, `:start`) and `{o}`, which is the
/// prefix of a value of the row at hand: `o.` where many rows come as arrays, `:` where they come one by one.
struct Dialect {
    std::string name;            ///< "postgres", "sqlite": also a {flag? …} in the templates
    bool arrays = false;         ///< `$1::type` and one array a column; else `:name` and once a row
    std::string default_schema;  ///< what an unqualified table name means; empty: nothing is prefixed
    std::string time_type;       ///< the type of a time column in DDL
    std::array<std::string, 7>
        types;  ///< column types by detail::Wire, in DDL and casts (the last: of an Instant)

    std::string now;        ///< the clock, as a value for a time column
    std::string bound_now;  ///< the same, evaluated once, so that an index can be bounded by it
    std::string until;      ///< `:lease` microseconds from now, never less
    std::string later;      ///< `{o}delay` microseconds from now, never less, and later than `now` for 1
    std::string stale;      ///< `:lease` microseconds ago, evaluated once
    std::string unsynced;   ///< true, and the commit then waits for no disk; evaluated once; may be empty
    std::string pass;       ///< common table expression that reads the clock once for a claim; may be empty
    std::string taken;  ///< further column of `pass`: marks the open transaction with `:guard`; may be empty
    std::string pass_now;          ///< that reading, as a bound of a time column
    std::string pass_micros;       ///< that reading, in microseconds
    std::string pass_mark;         ///< evaluates `taken` while rows are returned; may be empty
    std::string pass_start;        ///< `:start` microseconds, as a bound of a time column
    std::string same_transaction;  ///< true while the transaction marked with `:guard` is open; may be empty
    std::string earliest;          ///< earlier than any time: stands for NULL in the claim order
    std::string after_due;         ///< `:after_due` as a value of a time column
    std::string among;             ///< membership in the subquery `#`, evaluated once
    std::string skip_locked;       ///< the claim's locking clause; may be empty
    std::string ordinal;           ///< the place of the row at hand in what was sent, from 1
    std::string text_order;        ///< suffix of a text key in the claim order; may be empty
    std::string
        or_raise;  ///< the statement `#`, which returns rows, as one that fails where there are none; may be empty

    std::string (*micros)(std::string const& column) =
        nullptr;  ///< time column to microseconds, never failing
    std::string (*instant)(std::string const& micros) =
        nullptr;                                                 ///< microseconds to a value of a time column
    std::string (*ticked)(std::string const& column) = nullptr;  ///< now, but later than the column's value
    /// Many bound rows as the table `o`, from (name, type) of each column; only where `arrays`.
    std::string (*rows)(std::vector<std::pair<std::string, std::string>> const& columns) = nullptr;
};

}  // namespace fila::inline v1
