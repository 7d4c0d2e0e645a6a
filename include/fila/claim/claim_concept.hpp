// SPDX-License-Identifier: MIT
// ClaimStrategy: how a row becomes ours, and who settles it: the store, or the transaction that claimed it.
//
// | member | says |
// |---|---|
// | `template <class S> struct Grant` | what is held for a claimed batch until it is settled |
// | `shared` | whether several workers may run rows of one batch, and the store settles them; else each row is settled by the worker that runs it, in `grant.transaction` |
// | `template <class S> static consteval bool check()` | static_asserts that S offers what is needed |
// | `claim(s, grant, request, out)` | the store's verb, or a transaction's; called from several threads at once |
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
concept ClaimStrategy = requires { typename T::template Grant<S>; } &&
                        requires(T const& t, S& s, typename T::template Grant<S>& grant,
                                 ClaimRequest<cursor_t<S>> const& request, batch_t<S>& out) {
                            { T::shared } -> std::convertible_to<bool>;
                            { T::template check<S>() } -> std::same_as<bool>;
                            { t.claim(s, grant, request, out) } -> std::same_as<ClaimResult<cursor_t<S>>>;
                        };

}  // namespace fila::inline v1
