// SPDX-License-Identifier: MIT
// ClaimStrategy: how a row becomes ours. A strategy is the store's two verbs, seen from the processor.
//
// | member | says |
// |---|---|
// | `template <class S> struct Grant` | what is held for a claimed batch until it is settled |
// | `shared` | whether several workers may run rows of one batch, and a settler settle them |
// | `template <class S> static consteval bool check()` | static_asserts that S offers what is needed |
// | `claim(s, grant, request, out)`, `settle(s, grant, settlements, acks)` | the verbs, called from several threads at once |
//
// | strategy | when | a process dies |
// |---|---|---|
// | Leased (default) | handlers that take long or talk to the outside | the lease runs out: runs again elsewhere |
// | InTransaction | short handlers that write to the same database | rolled back: pending again at once |
#pragma once

#include <fila/store/store_concept.hpp>

namespace fila::inline v1 {

struct claim_role;

template <class T, class S>
concept ClaimStrategy =
    requires { typename T::template Grant<S>; } &&
    requires(T const& t, S& s, typename T::template Grant<S>& grant, ClaimRequest<cursor_t<S>> const& request,
             batch_t<S>& out, std::span<settlement_t<S> const> settlements, std::span<Ack> acks) {
        { T::shared } -> std::convertible_to<bool>;
        { T::template check<S>() } -> std::same_as<bool>;
        { t.claim(s, grant, request, out) } -> std::same_as<ClaimResult<cursor_t<S>>>;
        { t.settle(s, grant, settlements, acks) } -> std::same_as<void>;
    };

}  // namespace fila::inline v1
