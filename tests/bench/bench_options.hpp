// SPDX-License-Identifier: MIT
// What the benchmark programs share: NAME=VALUE arguments, and one line of JSON at the end.
#pragma once

#include <chrono>
#include <cstddef>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

namespace fila_bench {

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
    [[nodiscard]] std::string text(std::string const& name, std::string const& otherwise = {}) const {
        auto const found = values_.find(name);
        return found == values_.end() ? otherwise : found->second;
    }
    [[nodiscard]] std::size_t number(std::string const& name, std::size_t otherwise) const {
        auto const found = values_.find(name);
        return found == values_.end() ? otherwise : std::stoull(found->second);
    }

private:
    std::map<std::string, std::string> values_;
};

using Steady = std::chrono::steady_clock;
inline double seconds_since(Steady::time_point start) {
    return std::chrono::duration<double>(Steady::now() - start).count();
}
inline void print_rate(std::size_t items, double seconds) {
    std::cout << "{\"items\": " << items << ", \"seconds\": " << seconds
              << ", \"rate\": " << static_cast<double>(items) / seconds << "}\n";
}

/// Runs a benchmark's main; a failure is one line and the exit status 1.
template <class Main>
int run(int argc, char** argv, Main main) {
    try {
        main(Options{argc, argv});
        return 0;
    } catch (std::exception const& e) {
        std::cerr << argv[0] << ": " << e.what() << '\n';
        return 1;
    }
}

}  // namespace fila_bench
