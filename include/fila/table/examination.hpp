// SPDX-License-Identifier: MIT
// Examination: what a driver is told of a queue that store.doctor() looks at, and where it writes its answer.
#pragma once

#include <fila/table/catalogue.hpp>
#include <fila/table/doctor_limits.hpp>
#include <fila/table/statements.hpp>
#include <fila/table/table_name.hpp>
#include <fila/types/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// Passed to `D::examine(connection, examination)`, see driver_concept.hpp. Only read what is told,
/// only add to what is answered.
struct Examination {
    // told
    TableName table;          ///< the one that is looked at
    std::string_view status;  ///< the status column
    bool erases;              ///< some word is fila::erased: rows are deleted
    bool shared_table;        ///< rows of other queues lie in it, too (`.fixed`)
    bool runs;                ///< the mapping fits and no privilege is missing: statements can be explained
    Statements const& statements;  ///< as the store sends them
    DoctorLimits const& limits;    ///< from when on something is worth a finding

    // answered
    std::vector<Finding> findings{};   ///< in any order
    std::vector<std::string> words{};  ///< that the status column seems to hold, by statistics
    bool locked = false;               ///< whoever explains or runs a statement now waits

    /// Adds a finding that is not fatal; `mend` is a statement, or empty.
    void add(std::string what, std::string mend) {
        findings.push_back({false, std::move(what), std::move(mend)});
    }
    /// One probe. What it may not see, or cannot just now, is a finding as well; a lost connection is not.
    template <class Connection, class Probe>
    void look(Connection const& connection, std::string_view at, Probe probe) {
        try {
            probe();
        } catch (Error const& e) {
            if (connection.lost()) throw;
            add("doctor could not look at " + std::string{at} + ": " + e.what(),
                e.code() == "42501" ? "grant the role what the message names, or run doctor() as another role"
                                    : std::string{});
        }
    }
};

}  // namespace fila::inline v1

namespace fila::inline v1::detail {

/// "3 h", "12 min": the largest unit that leaves a number of at least 2.
[[nodiscard]] inline std::string age_text(std::int64_t micros) {
    struct Unit {
        std::int64_t micros;
        char const* name;
    };
    constexpr std::int64_t second = 1'000'000;
    for (auto const& unit : {Unit{86'400 * second, " d"}, Unit{3'600 * second, " h"},
                             Unit{60 * second, " min"}, Unit{second, " s"}})
        if (micros / unit.micros >= 2) return std::to_string(micros / unit.micros) + unit.name;
    return std::to_string(micros / 1000) + " ms";
}

}  // namespace fila::inline v1::detail
