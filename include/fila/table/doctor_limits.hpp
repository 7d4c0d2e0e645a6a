// SPDX-License-Identifier: MIT
// DoctorLimits: from where on store.doctor() calls something a finding.
#pragma once

#include <fila/types/time.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fila::inline v1 {

/// The defaults suit a queue that is worked all the time. Plain data; a limit of zero reports whatever is
/// there. Example:
///   store.doctor({.unrescued = 1h, .known_words = {"draft", "archived"}});
struct DoctorLimits {
    Duration unrescued = std::chrono::minutes{5};  ///< how long a lease may have been over without a rescue
    Duration ahead = std::chrono::days{365};       ///< due times and leases later than that never come
    Duration snapshot = std::chrono::minutes{5};   ///< the age of a transaction that holds vacuum back
    std::int64_t transactions = 1'000'000;         ///< the same for what has no age but counts them
    Duration clock_difference = std::chrono::seconds{1};  ///< between this host and the server
    std::int64_t dead_rows = 100'000;   ///< dead rows that a table may have before vacuum comes
    double dead_share = 0.5;            ///< of the rows of a table, once there are more than `dead_rows`
    std::int64_t log_bytes = 64 << 20;  ///< SQLite: of the write-ahead log that stays
    Duration write_lock = std::chrono::seconds{1};  ///< SQLite: how long another may hold the write lock
    std::vector<std::string> known_words{};         ///< further words in the status column that others mean
};

}  // namespace fila::inline v1
