// SPDX-License-Identifier: MIT
// How to open a SQLite file.
#pragma once

#include <fila/sqlite/sqlite_dialect.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace fila::inline v1::sqlite {

/// How hard SQLite syncs. `normal`: a power cut may undo the last commits but never damages the file; undone
/// settles run again. `full`: each commit is on disk. `off`: only for tests.
enum class Synchronous : std::uint8_t { off, normal, full };

/// Plain data; copy it freely.
struct Config {
    std::string file;                            ///< a path, or ":memory:", which lives as long as the store
    TimeFormat times = TimeFormat::unix_micros;  ///< of every time column that is mapped
    std::chrono::milliseconds busy_timeout{5000};   ///< in all, for a lock that another process holds
    Synchronous synchronous = Synchronous::normal;  ///< of the connection; the file does not remember it
    /// Make the file if there is none. A store does so once, when it is constructed, and not with
    /// OnStart::verify: what is not there has no table to verify.
    bool create = true;
};

}  // namespace fila::inline v1::sqlite
