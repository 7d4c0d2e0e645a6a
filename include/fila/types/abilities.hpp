// SPDX-License-Identifier: MIT
// Abilities: what a policy needs of a store beyond its verbs, and the sentence for a store that lacks it.
//
// A SQL mapping without a `due_at` column cannot delay a row, although every verb is there. So stores say
// what they offer, policies say what they need, and the compiler compares the two:
//
//   struct MyPolicy { using needs = fila::needs<fila::ability::delay>; … };
//   struct MyStore  { template <class Ability> static constexpr bool offers = …; … };   // absent: everything
#pragma once

#include <fila/config.hpp>

#include <concepts>
#include <type_traits>

namespace fila::inline v1 {

/// What a policy asks of a store: `using needs = fila::needs<fila::ability::delay>;`.
template <class... Abilities>
struct needs {};

namespace ability {

/// Rows can be marked as ours for a while, with a fence.
struct lease {
    /// Does not compile unless `offered`, and says what to add.
    template <bool offered>
    static consteval bool check() {
        static_assert(offered,
                      "fila: Leased needs a lease in the table: add .lease_until(\"column\") and "
                      ".fence(\"column\"), or "
                      ".updated_at(\"column\") to rescue by age; or use fila::InTransaction{}");
        return offered;
    }
};
/// A row can wait for a while.
struct delay {
    /// Does not compile unless `offered`, and says what to add.
    template <bool offered>
    static consteval bool check() {
        static_assert(
            offered,
            "fila: delays (backoff, snooze) need a due time: add .due_at(\"column\") to the table, or use "
            "fila::NextPass{} or fila::NoRetry{}");
        return offered;
    }
};
/// Failed attempts are counted.
struct failures {
    /// Does not compile unless `offered`, and says what to add.
    template <bool offered>
    static consteval bool check() {
        static_assert(
            offered,
            "fila: a cap on attempts needs a counter: add .failures(\"column\") to the table, or use "
            "fila::NextPass{} or fila::NoRetry{}");
        return offered;
    }
};
/// Crashes are counted apart.
struct crashes {
    /// Does not compile unless `offered`, and says what to add.
    template <bool offered>
    static consteval bool check() {
        static_assert(offered,
                      "fila: a cap on crashes needs a counter: add .crashes(\"column\") to the table");
        return offered;
    }
};
/// A lease can be extended.
struct heartbeat {
    /// Does not compile unless `offered`, and says what to add.
    template <bool offered>
    static consteval bool check() {
        static_assert(offered, "fila: a heartbeat needs .lease_until(\"column\") in the table");
        return offered;
    }
};

}  // namespace ability

/// Whether store `S` offers ability `A`. A store that says nothing offers everything that its verbs can
/// carry.
template <class S, class A>
inline constexpr bool offers_v = [] {
    if constexpr (requires {
                      { S::template offers<A> } -> std::convertible_to<bool>;
                  })
        return S::template offers<A>;
    else
        return true;
}();

namespace detail {

template <class S, class... A>
consteval bool check_needs(needs<A...>) {
    return (A::template check<offers_v<S, A>>() & ... & true);
}
/// Names in one sentence each ability that policy `P` needs and store `S` lacks.
template <class S, class P>
consteval bool check_policy_needs() {
    if constexpr (requires { typename P::needs; })
        return check_needs<S>(typename P::needs{});
    else
        return true;
}

template <class S, class... A>
consteval bool meets_needs(needs<A...>) {
    return (offers_v<S, A> && ... && true);
}

}  // namespace detail

/// Whether policy `P` fits store `S`, as a value: for overloads and tests.
template <class P, class S>
inline constexpr bool fits_store_v = [] {
    if constexpr (requires { typename P::needs; })
        return detail::meets_needs<S>(typename P::needs{});
    else
        return true;
}();

}  // namespace fila::inline v1
