// SPDX-License-Identifier: MIT
// FILA_STORE_CONFORMANCE: holds a store to every promise of the Store concept and its refinements.
//
//   #include <fila/testing/store_conformance.hpp>
//   struct MyHarness { … };                 // a dozen lines: see store_harness.hpp
//   FILA_STORE_CONFORMANCE(MyHarness)
//
// Each rule becomes a Catch2 test of its own, "store conformance: my store: lease: a live lease is left alone
// by a rescue": tagged [store-conformance] and with its suite, and filtered, run and reported like any other.
// A rule about something that the store does not promise is there too, and says why it is skipped. Link
// fila::testing.
//
// Without Catch2: loop over store_rules<H> and call run_rule (store_rules.hpp); a rule knows no test
// framework.
#pragma once

#include <fila/testing/store_rules.hpp>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <iostream>
#include <string>
#include <utility>

namespace fila::inline v1::testing {

/// Catch2 of version 2 knows no skipped tests: there it is a line of text and a pass.
inline void skip_test(std::string const& why) {
#if defined(SKIP)
    SKIP(why);
#else
    std::cout << "SKIPPED: " << why << '\n';
    SUCCEED(why);
#endif
}

/// One rule of the kit, as a test of Catch2: fails with each finding, or skips with the reason.
template <StoreHarness H, std::size_t index>
void run_conformance_test() {
    constexpr auto rule = store_rules<H>[index];
    if constexpr (HasUnavailable<H>)
        if (std::string const why = H::unavailable(); !why.empty()) return skip_test(why);
    if constexpr (!rule.skip.empty()) {
        skip_test(std::string{rule.skip});
    } else {
        auto const findings = run_rule<H>(rule);
        for (auto const& found : findings.all()) FAIL_CHECK(found);
        SUCCEED();
    }
}

/// Registers every rule for `H`; called before main by the macro below.
template <class H>
bool register_store_conformance() {
    static_assert(check_harness<H>());
    if constexpr (StoreHarness<H>) {
        [&]<std::size_t... index>(std::index_sequence<index...>) {
            auto const add = [](void (*test)(), std::string_view rule) {
                auto const name = "store conformance: " + std::string{H::name} + ": " + std::string{rule};
                auto const tags = "[store-conformance][" + std::string{rule.substr(0, rule.find(':'))} + "]";
                REGISTER_TEST_CASE(test, name, tags);
            };
            (add(&run_conformance_test<H, index>, store_rules<H>[index].name), ...);
        }(std::make_index_sequence<store_rules<H>.size()>{});
    }
    return true;
}

}  // namespace fila::inline v1::testing

/// The macro below needs it; nobody else's.
#define FILA_STORE_CONFORMANCE_JOIN_(a, b) a##b
/// The macro below needs it; nobody else's.
#define FILA_STORE_CONFORMANCE_NAME_(line) FILA_STORE_CONFORMANCE_JOIN_(fila_store_conformance_, line)

/// Registers the conformance tests of one harness. At namespace scope of a test file, once a harness.
#define FILA_STORE_CONFORMANCE(...)                                             \
    [[maybe_unused]] static bool const FILA_STORE_CONFORMANCE_NAME_(__LINE__) = \
        ::fila::testing::register_store_conformance<__VA_ARGS__>();
