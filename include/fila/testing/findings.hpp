// SPDX-License-Identifier: MIT
// Findings: what a conformance rule found wrong, collected without any test framework, so that a rule can
// also be run against a store that is known to be broken.
#pragma once

#include <fila/config.hpp>

#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

/// Ends a rule that cannot go on; what was found stays.
struct RuleEnded : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Findings {
public:
    /// `sentence` says what should have been. Answers `ok`.
    bool check(bool ok, std::string_view sentence,
               std::source_location where = std::source_location::current()) {
        if (!ok) add(std::string{sentence}, where);
        return ok;
    }
    /// As check, and ends the rule.
    void require(bool ok, std::string_view sentence,
                 std::source_location where = std::source_location::current()) {
        if (!check(ok, sentence, where)) throw RuleEnded{std::string{sentence}};
    }
    /// One finding, with the place that found it.
    void add(std::string sentence, std::source_location where = std::source_location::current()) {
        std::string_view file{where.file_name()};
        file.remove_prefix(file.find_last_of("/\\") + 1);
        found_.push_back(std::move(sentence) + "  [" + std::string{file} + ":" +
                         std::to_string(where.line()) + "]");
    }

    /// Whether nothing was wrong.
    [[nodiscard]] bool empty() const noexcept { return found_.empty(); }
    /// In the order in which they were found.
    [[nodiscard]] std::vector<std::string> const& all() const& noexcept { return found_; }
    std::vector<std::string> const& all() const&& = delete;  // would dangle in a range-for

private:
    std::vector<std::string> found_;
};

/// Ends a loop that a broken store would make endless: a broken store fails, it never hangs.
class Budget {
public:
    /// `what` is what comes to no end when `turns` are used up.
    Budget(Findings& findings, std::size_t turns, std::string_view what)
        : findings_{&findings}, turns_{turns}, what_{what} {}
    /// True while there is some left; ends the rule when it is used up.
    bool spend(std::source_location where = std::source_location::current()) {
        findings_->require(turns_-- > 0, what_ + " does not come to an end", where);
        return true;
    }

private:
    Findings* findings_;
    std::size_t turns_;
    std::string what_;
};

}  // namespace fila::inline v1::testing
