// SPDX-License-Identifier: MIT
// store_rules<H>: all that a store is held to, as one table.
#pragma once

#include <fila/testing/rules/claim_rules.hpp>
#include <fila/testing/rules/inspect_rules.hpp>
#include <fila/testing/rules/lease_rules.hpp>
#include <fila/testing/rules/model_rules.hpp>
#include <fila/testing/rules/peer_rules.hpp>
#include <fila/testing/rules/settle_rules.hpp>
#include <fila/testing/rules/thread_rules.hpp>
#include <fila/testing/rules/transaction_rules.hpp>

#include <algorithm>

namespace fila::inline v1::testing {

namespace detail {

template <class Rule, std::size_t... Sizes>
constexpr auto join_rules(std::array<Rule, Sizes> const&... suites) {
    std::array<Rule, (Sizes + ...)> all{};
    auto* to = all.data();
    ((to = std::ranges::copy(suites, to).out), ...);
    return all;
}

}  // namespace detail

/// Every rule, in the order in which they are run.
template <StoreHarness H>
inline constexpr auto store_rules = detail::join_rules(
    claim_rules<H>(), settle_rules<H>(), lease_rules<H>(), fence_rules<H>(), transaction_rules<H>(),
    inspect_rules<H>(), thread_rules<H>(), peer_rules<H>(), durable_rules<H>(), model_rules<H>());

}  // namespace fila::inline v1::testing
