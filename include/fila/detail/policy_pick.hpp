// SPDX-License-Identifier: MIT
// Finds the policy of a role in a pack that comes in any order.
#pragma once

#include <fila/config.hpp>

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fila::inline v1 {

struct claim_role;
struct clock_role;
struct limiter_role;
struct retry_role;
struct observer_role;
struct pace_role;
struct time_limit_role;

namespace detail {

template <class P>
concept HasPolicyRole = requires { typename P::policy_role; };

template <class P, class... Roles>
inline constexpr bool plays_one_of = [] {
    if constexpr (HasPolicyRole<P>)
        return (std::is_same_v<typename P::policy_role, Roles> || ...);
    else
        return false;
}();

template <class P>
inline constexpr bool is_policy = plays_one_of<P, claim_role, clock_role, limiter_role, retry_role,
                                               observer_role, pace_role, time_limit_role>;

template <class Role, class... P>
inline constexpr std::size_t players = (std::size_t{0} + ... + (plays_one_of<P, Role> ? 1u : 0u));

template <class... P>
consteval bool check_policies() {
    static_assert((is_policy<P> && ...),
                  "fila: an argument of the Processor is not a policy: after store, executor and handler "
                  "come policies, "
                  "each with  using policy_role = fila::…_role;");
    static_assert((std::move_constructible<P> && ...),
                  "fila: a policy must be movable: the Processor keeps it");
    static_assert(players<claim_role, P...> <= 1, "fila: two claim strategies: give the Processor one");
    static_assert(players<clock_role, P...> <= 1, "fila: two clocks: give the Processor one");
    static_assert(players<limiter_role, P...> <= 1, "fila: two limiters: give the Processor one");
    static_assert(players<retry_role, P...> <= 1, "fila: two retry policies: give the Processor one");
    static_assert(players<observer_role, P...> <= 1,
                  "fila: two observers: give the Processor one, or a group of them");
    static_assert(players<pace_role, P...> <= 1, "fila: two paces: give the Processor one");
    static_assert(players<time_limit_role, P...> <= 1, "fila: two time limits: give the Processor one");
    return true;
}

/// The type in the pack that plays `Role`, or `Default`.
template <class Role, class Default, class... P>
struct player {
    using type = Default;
};
template <class Role, class Default, class First, class... Rest>
struct player<Role, Default, First, Rest...> {
    using type = typename std::conditional_t<plays_one_of<First, Role>, std::type_identity<First>,
                                             player<Role, Default, Rest...>>::type;
};
template <class Role, class Default, class... P>
using player_t = typename player<Role, Default, P...>::type;

/// The policy itself, moved out of the tuple; a default-constructed default if there is none.
template <class Role, class Default, class... P>
player_t<Role, Default, P...> pick(std::tuple<P...>& all) {
    if constexpr (players<Role, P...> == 0)
        return Default{};
    else
        return std::move(std::get<player_t<Role, Default, P...>>(all));
}

}  // namespace detail
}  // namespace fila::inline v1
