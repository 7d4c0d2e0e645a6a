// SPDX-License-Identifier: MIT
// StoreRule: one promise of a store, as a sentence and a function that tests it.
#pragma once

#include <fila/testing/store_probe.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace fila::inline v1::testing {

/// Why a rule does not apply to a harness; empty: it does.
using Skip = std::string_view;

/// One promise of a store, and how to see whether it is kept.
template <StoreHarness H>
struct StoreRule {
    std::string_view name;        ///< "suite: what is promised"
    Skip skip;                    ///< why not for this harness
    void (*run)(StoreProbe<H>&);  ///< reports into the probe's findings
};

/// Runs one rule on a fresh harness. What the store throws is a finding too.
template <StoreHarness H>
[[nodiscard]] Findings run_rule(StoreRule<H> const& rule) {
    Findings findings;
    try {
        H harness;
        StoreProbe<H> probe{harness, findings};
        rule.run(probe);
    } catch (RuleEnded const&) {
        // Its reason is among the findings.
    } catch (std::exception const& e) {
        findings.add(std::string{"nothing is thrown, but this was: "} + e.what());
    }
    return findings;
}

/// The first reason that is not empty.
template <class... Reasons>
constexpr Skip first_of(Reasons... reasons) {
    Skip first;
    ((first = first.empty() ? Skip{reasons} : first), ...);
    return first;
}

/// What a rule can need of a store or a harness: the reason to skip it, empty where it is there.
template <StoreHarness H>
struct Needs {
    /// The store.
    using S = typename H::store_type;
    /// What the harness promises of it.
    static constexpr StoreTraits traits = H::traits;

    static constexpr Skip nothing{};
    static constexpr Skip order = traits.in_order ? "" : "the store promises no order";
    static constexpr Skip priority = traits.ordered_by_priority ? "" : "the store has no priorities";
    static constexpr Skip delays = traits.delays ? "" : "the store cannot delay a row";
    static constexpr Skip delayed_put =
        traits.delays && traits.delayed_put ? "" : "rows cannot be put in for later";
    static constexpr Skip place = traits.keeps_place ? "" : "the store's cursor keeps no place";
    static constexpr Skip failures = traits.counts_failures ? "" : "the store counts no failures";
    static constexpr Skip crashes = traits.counts_crashes ? "" : "the store counts no crashes";
    static constexpr Skip fence = traits.has_fence ? "" : "the store has no fence";
    static constexpr Skip leases = LeasingStore<S> ? "" : "the store leases nothing";
    static constexpr Skip transactions = TransactionalStore<S> ? "" : "the store has no transactions";
    static constexpr Skip concurrent_transactions =
        traits.concurrent_transactions ? "" : "nothing else can be done while a transaction is open";
    static constexpr Skip inspection = InspectableStore<S> ? "" : "the store cannot be inspected";
    static constexpr Skip notification =
        NotifyingStore<S> && traits.notifies ? "" : "the store tells nobody of new rows";
    static constexpr Skip threads = traits.shared_by_threads ? "" : "the store is for one thread at a time";
    static constexpr Skip peers = traits.peers ? "" : "the store is this process's alone";
    static constexpr Skip durability = traits.durable ? "" : "the store does not outlive the process";
    static constexpr Skip number = HasNumber<H> ? "" : "the harness cannot read a row: it has no number(row)";
    static constexpr Skip broken_rows =
        HasPutBroken<H> ? "" : "the harness cannot make a row that cannot be decoded: it has no put_broken()";
    static constexpr Skip null_leases =
        HasClearLease<H> ? "" : "the harness cannot take a lease away: it has no clear_lease(key)";
    static constexpr Skip savepoints = [] {
        if constexpr (TransactionalStore<S>)
            return SavepointTransaction<typename S::transaction_type>
                       ? Skip{}
                       : Skip{"transactions have no savepoints"};
        else
            return Skip{"the store has no transactions"};
    }();
    static constexpr Skip finish = [] {
        if constexpr (TransactionalStore<S>)
            return FinishingTransaction<typename S::transaction_type>
                       ? Skip{}
                       : Skip{"transactions do not settle and commit at once"};
        else
            return Skip{"the store has no transactions"};
    }();
};

}  // namespace fila::inline v1::testing
