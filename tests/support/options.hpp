// SPDX-License-Identifier: MIT
// Options: what a program of the tests is told, as NAME=VALUE arguments.
#pragma once

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>

namespace fila_test {

class Options {
public:
    Options(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            std::string const word = argv[i];
            auto const equals = word.find('=');
            if (equals == word.npos) throw std::invalid_argument{"not NAME=VALUE: " + word};
            values_[word.substr(0, equals)] = word.substr(equals + 1);
        }
    }
    [[nodiscard]] bool has(std::string const& name) const { return values_.contains(name); }
    [[nodiscard]] std::string const& text(std::string const& name) const {
        auto const found = values_.find(name);
        if (found == values_.end()) throw std::invalid_argument{"needs " + name + "="};
        return found->second;
    }
    [[nodiscard]] std::string text(std::string const& name, std::string const& otherwise) const {
        return has(name) ? text(name) : otherwise;
    }
    [[nodiscard]] long number(std::string const& name, long otherwise) const {
        return has(name) ? std::stol(text(name)) : otherwise;
    }
    [[nodiscard]] std::chrono::milliseconds time(std::string const& name, long otherwise) const {
        return std::chrono::milliseconds{number(name, otherwise)};
    }

private:
    std::map<std::string, std::string> values_;
};

}  // namespace fila_test
