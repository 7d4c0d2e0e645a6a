// SPDX-License-Identifier: MIT
// The command line of verify_packages.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

struct Options {
    std::filesystem::path root = "/";
    std::string database = "packages.db";
    std::size_t workers = 4;
    bool in_transaction = false;
    std::size_t batch = 0;  ///< 0: the library adapts it
    std::chrono::milliseconds lease{5000};
    std::filesystem::path run_log{};

    [[nodiscard]] bool postgres() const {
        return database.starts_with("postgresql://") || database.starts_with("postgres://");
    }
};

/// Nothing if the program has nothing to do: `exit_code` is then 0 (help was printed) or 2 (one line on
/// stderr said what is wrong).
[[nodiscard]] std::optional<Options> parse_options(int argc, char const* const* argv, int& exit_code);
