// SPDX-License-Identifier: MIT
// Hunts for the bug that was planted in the engine that this is compiled with. Exit status 0: found.
#include "support/simulated_rows.hpp"

#include <iostream>

namespace {

constexpr std::uint64_t seeds = 5000;

template <class Strategy>
bool found(char const* mutant, char const* strategy) {
    fila_tests::Totals totals;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        auto const why = fila_tests::simulate<Strategy>(seed, totals);
        if (why.empty()) continue;
        std::cout << mutant << ": found by seed " << seed << ", " << strategy << ": " << why << '\n';
        return true;
    }
    return false;
}

}  // namespace

int main(int, char** argv) {
    if (found<fila::Leased>(argv[1], "leased") || found<fila::InTransaction>(argv[1], "in transaction"))
        return 0;
    std::cout << argv[1] << ": not found in " << seeds << " seeds of each strategy\n";
    return 1;
}
