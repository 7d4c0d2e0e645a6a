// SPDX-License-Identifier: MIT
// The strategies by themselves: which stores they fit, which verbs they call, what they refuse.
#include "support/catch.hpp"
#include <fila/claim.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// Notes which of its verbs are called.
struct NotingTransaction {
    using row_type = int;
    using key_type = int;
    using cursor_type = int;

    std::vector<std::string>* calls;

    fila::ClaimResult<int> claim(fila::ClaimRequest<int> const& r, fila::Batch<int, int>&) {
        calls->push_back("transaction claims");
        return {r.after + 1, fila::Supply::more};
    }
    void settle(std::span<fila::Settlement<int, int> const>, std::span<fila::Ack>) {
        calls->push_back("transaction settles");
    }
    void commit() { calls->push_back("commits"); }
};
struct NotingStore {
    using row_type = int;
    using key_type = int;
    using cursor_type = int;
    using transaction_type = NotingTransaction;

    std::vector<std::string> calls;
    bool connection_free = true;

    fila::ClaimResult<int> claim(fila::ClaimRequest<int> const& r, fila::Batch<int, int>&) {
        calls.push_back("store claims");
        return {r.after + 1, fila::Supply::more};
    }
    void settle(std::span<fila::Settlement<int, int> const>, std::span<fila::Ack>) {
        calls.push_back("store settles");
    }
    std::optional<NotingTransaction> begin() {
        if (!connection_free) return std::nullopt;
        calls.push_back("begins");
        return NotingTransaction{&calls};
    }
};

template <class Strategy>
auto claim_once(Strategy const& strategy, NotingStore& store,
                typename Strategy::template Grant<NotingStore>& grant) {
    fila::Batch<int, int> batch;
    return strategy.claim(store, grant, fila::ClaimRequest<int>{.limit = 1, .after = 7, .lease = 1s}, batch);
}

struct NoGrant {};
struct NoVerbs {
    template <class S>
    struct Grant {};
    static constexpr bool shared = true;
    template <class S>
    static consteval bool check() {
        return true;
    }
};
struct NoCheck : NoVerbs {
    template <class S>
    static void check();
};
static_assert(fila::ClaimStrategy<fila::Leased, NotingStore>);
static_assert(fila::ClaimStrategy<fila::InTransaction, NotingStore>);
static_assert(!fila::ClaimStrategy<NoGrant, NotingStore>);
static_assert(!fila::ClaimStrategy<NoVerbs, NotingStore>);
static_assert(!fila::ClaimStrategy<NoCheck, NotingStore>);
static_assert(fila::Leased::shared && !fila::InTransaction::shared);

std::string faults_of(fila::Leased const& leased) {
    try {
        leased.validate();
    } catch (fila::ConfigError const& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("leased claims from the store itself and holds nothing") {
    NotingStore store;
    fila::Leased::Grant<NotingStore> grant;
    STATIC_REQUIRE(std::is_empty_v<fila::Leased::Grant<NotingStore>>);
    CHECK(claim_once(fila::Leased{}, store, grant).cursor == 8);
    CHECK(store.calls == std::vector<std::string>{"store claims"});
}

TEST_CASE("in transaction claims through the transaction that it holds") {
    NotingStore store;
    fila::InTransaction::Grant<NotingStore> grant;
    CHECK(claim_once(fila::InTransaction{}, store, grant).cursor == 8);
    REQUIRE(grant.transaction);
    CHECK(store.calls == std::vector<std::string>{"begins", "transaction claims"});
}

TEST_CASE("in transaction claims nothing, and keeps its place, while no connection is free") {
    NotingStore store;
    store.connection_free = false;
    fila::InTransaction::Grant<NotingStore> grant;
    auto const result = claim_once(fila::InTransaction{}, store, grant);
    CHECK(result.cursor == 7);
    CHECK(result.supply == fila::Supply::more);
    CHECK_FALSE(grant.transaction);
    CHECK(store.calls.empty());
}

TEST_CASE("the heartbeat is a third of the lease unless it is given") {
    CHECK(fila::Leased{.lease = 30s}.beat() == 10s);
    CHECK(fila::Leased{.lease = 30s, .heartbeat = 2s}.beat() == 2s);
}

TEST_CASE("case 120: nonsense in a lease is refused, each field by name") {
    CHECK(faults_of(fila::Leased{}).empty());
    auto const names = [](fila::Leased const& leased, std::string_view field) {
        return faults_of(leased).find(field) != std::string::npos;
    };
    CHECK(names({.lease = 0s}, "Leased::lease"));
    CHECK(names({.lease = -1s}, "Leased::lease"));
    CHECK(names({.lease = fila::forever}, "Leased::lease"));
    CHECK(names({.lease = 10s, .heartbeat = 6s}, "Leased::heartbeat"));
    CHECK(names({.lease = 10s, .heartbeat = -1s}, "Leased::heartbeat"));
    CHECK(names({.max_crashes = 0}, "Leased::max_crashes"));
}
