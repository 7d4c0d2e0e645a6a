// SPDX-License-Identifier: MIT
// StoreHarness: the few lines that an author of a store writes, so that the conformance kit can test it.
//
//   struct MyHarness {
//       using store_type = MyStore;
//       static constexpr std::string_view name = "my store";           // no comma, semicolon, bracket
//       static constexpr fila::testing::StoreTraits traits{.durable = true};
//       store_type& store();                                           // fresh and empty for each harness
//       fila::key_t<MyStore> put(std::int64_t n, fila::EnqueueOptions const&);  // one row that carries n
//       fila::RowState state(key);                                     // absent: erased, or never there
//       void expire(key);                                              // where it leases
//       void make_due(key);                                            // where it delays
//   };
//
// | member | when | semantics |
// |---|---|---|
// | `H{}` | always | a fresh, empty store; the destructor cleans up. One per rule |
// | `h.store()` | always | the store, the same one each time |
// | `h.put(n, options)` | always | puts in one row that carries `n`; returns its key |
// | `h.state(key)` | always | what the data says of the row, not what the store says, if that can be: RowState::pending, processing, completed, dead, discarded or absent |
// | `h.expire(key)` | LeasingStore | makes the lease of this row, and of no other, run out, without sleeping |
// | `h.make_due(key)` | `traits.delays` | makes this row, and no other, due now |
// | `h.peer()` | `traits.peers` | a second, independent store on the same data, as another process has it |
// | `h.reopen()` | `traits.durable` | lets go of the store as a killed process does, and opens the data again |
// | `h.number(row)` | optional | the `n` that the row was put in with |
// | `h.put_broken()` | optional | puts in a row that cannot be decoded; returns its key |
// | `h.clear_lease(key)` | optional | a claimed row whose lease is NULL, as a repair by hand leaves it |
// | `H::unavailable()` | optional, static | why nothing can be tested here; empty: all is well |
//
// Rules call these members from one thread.
#pragma once

#include <fila/store/row_state.hpp>
#include <fila/store/store_concept.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace fila::inline v1::testing {

/// What a store promises beyond its verbs; name what differs, in this order. A rule about something that it does not promise is reported as
/// skipped, with the reason; which refinements it models, the kit sees for itself.
struct StoreTraits {
    bool shared_by_threads = true;  ///< verbs may be called from several threads at once
    bool in_order = true;           ///< rows of one priority and due time come in the order they were put in
    bool ordered_by_priority = true;  ///< smaller EnqueueOptions::priority first, then the earlier due time
    bool delays = true;               ///< retry(after) and snooze(after) are honoured
    bool delayed_put = true;          ///< EnqueueOptions::delay is honoured
    bool keeps_place = true;          ///< a cursor keeps a pass from meeting a row that was given back
    bool counts_failures = true;      ///< History::failures
    bool counts_crashes = true;       ///< History::crashes
    bool has_fence = true;            ///< fences grow from claim to claim, and are checked
    bool keeps_dead = true;           ///< dead rows stay, and can be seen
    bool concurrent_transactions = true;               ///< the store can be used while a transaction is open
    bool notifies = true;                              ///< a NotifyingStore is woken by h.put()
    Duration wakes_within = std::chrono::seconds{20};  ///< how long h.put() may take to wake a subscriber
    bool peers = false;    ///< several processes may share the data; the harness has peer()
    bool durable = false;  ///< data outlive the process; the harness has reopen()
};

template <class H>
concept HasTraits = requires {
    { H::name } -> std::convertible_to<std::string_view>;
    { H::traits } -> std::convertible_to<StoreTraits>;
};
template <class H>
concept HasStoreUnderTest = requires(H& h) {
    typename H::store_type;
    { h.store() } -> std::same_as<typename H::store_type&>;
} && Store<typename H::store_type>;
template <class H>
concept HasPut = HasStoreUnderTest<H> && requires(H& h, std::int64_t n, EnqueueOptions const& options) {
    { h.put(n, options) } -> std::convertible_to<key_t<typename H::store_type>>;
};
template <class H>
concept HasState = HasStoreUnderTest<H> && requires(H& h, key_t<typename H::store_type> const& key) {
    { h.state(key) } -> std::same_as<RowState>;
};
template <class H>
concept HasExpire = requires(H& h, key_t<typename H::store_type> const& key) { h.expire(key); };
template <class H>
concept HasMakeDue = requires(H& h, key_t<typename H::store_type> const& key) { h.make_due(key); };
template <class H>
concept HasPeer = requires(H& h) {
    { h.peer() } -> std::same_as<typename H::store_type&>;
};
template <class H>
concept HasReopen = requires(H& h) { h.reopen(); };
template <class H>
concept HasNumber = requires(H& h, row_t<typename H::store_type> const& row) {
    { h.number(row) } -> std::convertible_to<std::int64_t>;
};
template <class H>
concept HasPutBroken = requires(H& h) {
    { h.put_broken() } -> std::convertible_to<key_t<typename H::store_type>>;
};
template <class H>
concept HasClearLease = requires(H& h, key_t<typename H::store_type> const& key) { h.clear_lease(key); };
template <class H>
concept HasUnavailable = requires {
    { H::unavailable() } -> std::convertible_to<std::string>;
};

template <class H>
concept StoreHarness =
    std::default_initializable<H> && HasTraits<H> && HasStoreUnderTest<H> && HasPut<H> && HasState<H>;

/// Says, one sentence each, what a would-be harness lacks.
template <class H>
consteval bool check_harness() {
    static_assert(std::default_initializable<H>,
                  "fila harness: must be default constructible: one for each rule");
    static_assert(HasTraits<H>,
                  "fila harness: needs  static constexpr std::string_view name  and  static constexpr "
                  "fila::testing::StoreTraits traits");
    if constexpr (HasTraits<H>)
        static_assert(std::string_view{H::name}.find_first_of(",;[]\\") == std::string_view::npos,
                      "fila harness: name has a comma, semicolon, bracket or backslash: CTest and Catch2 "
                      "would look for the tests under another name, find none and call it a success");
    if constexpr (requires { typename H::store_type; }) fila::detail::check_store<typename H::store_type>();
    static_assert(HasStoreUnderTest<H>,
                  "fila harness: needs  using store_type = …;  and  store_type& store()");
    if constexpr (HasStoreUnderTest<H> && HasTraits<H>) {
        constexpr StoreTraits traits = H::traits;
        static_assert(HasPut<H>,
                      "fila harness: needs  key_type put(std::int64_t n, fila::EnqueueOptions const&)");
        static_assert(HasState<H>, "fila harness: needs  fila::RowState state(key_type const&)");
        static_assert(!LeasingStore<typename H::store_type> || HasExpire<H>,
                      "fila harness: the store leases, so it needs  void expire(key_type const&)");
        static_assert(!traits.delays || HasMakeDue<H>,
                      "fila harness: traits.delays needs  void make_due(key_type const&)");
        static_assert(!traits.peers || HasPeer<H>, "fila harness: traits.peers needs  store_type& peer()");
        static_assert(!traits.durable || HasReopen<H>, "fila harness: traits.durable needs  void reopen()");
    }
    return true;
}

}  // namespace fila::inline v1::testing
