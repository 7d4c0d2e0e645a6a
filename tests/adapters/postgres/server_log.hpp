// SPDX-License-Identifier: MIT
// What the tests' server has logged.
#pragma once

#include "support/catch.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace fila_test {

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// What the server logged, statement by statement, for sessions of one name.
inline std::vector<std::string> logged(std::string const& application) {
    char const* path = std::getenv("FILA_TEST_POSTGRES_LOG");
    REQUIRE(path != nullptr);
    std::ifstream file{path};
    std::vector<std::string> lines;
    bool ours = false;
    for (std::string line; std::getline(file, line);) {
        bool const starts =
            contains(line, "|LOG:  ") || contains(line, "|DETAIL:  ") || contains(line, "|ERROR:  ");
        if (starts) ours = line.starts_with(application + "|");
        if (ours && starts)
            lines.push_back(line);
        else if (ours)
            lines.back() += "\n" + line;
    }
    return lines;
}

}  // namespace fila_test
