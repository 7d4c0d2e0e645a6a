// SPDX-License-Identifier: MIT
// What the benchmark programs share: their options, and one line of JSON at the end.
#pragma once

#include "support/options.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>

namespace fila_bench {

using fila_test::Options;
inline std::size_t count(Options const& options, std::string const& name, long otherwise) {
    return static_cast<std::size_t>(options.number(name, otherwise));
}

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
