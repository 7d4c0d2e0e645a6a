// SPDX-License-Identifier: MIT
// The command line of verify_packages.
#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
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

/// What the user gave cannot be used: exit code 2.
class CannotStart : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Does something with what the user gave; what it throws becomes a CannotStart.
template <class Use>
auto given(std::string const& complaint, Use use) {
    try {
        return use();
    } catch (std::exception const& e) {
        throw CannotStart{complaint + e.what()};
    }
}

/// Nothing if help was asked for, and printed. Throws CannotStart.
[[nodiscard]] std::optional<Options> parse_options(int argc, char const* const* argv);
