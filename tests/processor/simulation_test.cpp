// SPDX-License-Identifier: MIT
// The real Processor in a simulated world, both claim strategies, many seeds.
#include "support/catch.hpp"
#include "support/simulated_rows.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

using fila_tests::simulate;
using fila_tests::Totals;

namespace {

#ifdef FILA_TESTS_ARE_SANITIZED
constexpr std::uint64_t few = 1500;  // an order of magnitude slower there
#else
constexpr std::uint64_t few = 50'000;
#endif

/// FILA_SIMULATION_SEEDS=N simulates N seeds, FILA_SIMULATION_SEED=N that seed alone.
std::uint64_t from_environment(char const* name, std::uint64_t otherwise) {
    auto const* value = std::getenv(name);
    return value ? std::stoull(value) : otherwise;
}

template <class Strategy>
void sweep(char const* name) {
    Totals t;
    auto const only = from_environment("FILA_SIMULATION_SEED", 0);
    auto const last = only ? only : from_environment("FILA_SIMULATION_SEEDS", few);
    for (auto seed = only ? only : 1; seed <= last; ++seed) {
        auto const why = simulate<Strategy>(seed, t);
        INFO(name << ", seed " << seed << ": " << why);
        REQUIRE(why.empty());
    }
    std::cout << name << ": " << t << ": no violation\n";
    if (only) return;
    CHECK(t.crashes > 0);  // else the faults were not there
    CHECK(t.faults > 0);
    CHECK(t.reruns > 0);
    CHECK(t.abandoned > 0);
    CHECK((t.forgotten > 0) == Strategy::shared);  // an open transaction is no claim that could be undone
}

}  // namespace

TEST_CASE("simulation: Leased, whatever fails, every row is finished once and by its owner") {
    sweep<fila::Leased>("leased");
}
TEST_CASE("simulation: InTransaction, whatever fails, every row is finished once and by its owner") {
    sweep<fila::InTransaction>("in transaction");
}
TEST_CASE("simulation: a seed replays exactly") {
    Totals first, second;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        (void)simulate<fila::Leased>(seed, first);
        (void)simulate<fila::Leased>(seed, second);
    }
    CHECK(first.steps == second.steps);
    CHECK(first.runs == second.runs);
}
