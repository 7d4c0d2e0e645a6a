// SPDX-License-Identifier: MIT
// Parts: what a processor was built from. Shared by the processor and its engines, since a handler that is
// abandoned at the hard stop still needs them when `run` has returned.
#pragma once

#include <fila/claim/claim_concept.hpp>
#include <fila/handler/handler_concept.hpp>
#include <fila/processor/pace.hpp>
#include <fila/processor/time_limit.hpp>

#include <type_traits>
#include <utility>

namespace fila::inline v1::detail {

template <class T>
struct transaction_of {
    using type = void;
};
template <class T>
    requires requires { typename T::transaction_type; }
struct transaction_of<T> {
    using type = typename T::transaction_type;
};

/// S and E may be lvalue references: then the part is the user's.
template <class S, class E, class H, class St, class C, class L, class R, class O>
struct Parts {
    using store_type = std::remove_reference_t<S>;
    using executor_type = std::remove_reference_t<E>;
    using handler_type = H;
    using strategy_type = St;
    using clock_type = C;
    using limiter_type = L;
    using retry_type = R;
    using observer_type = O;
    using grant_type = typename St::template Grant<store_type>;
    using row_type = row_t<store_type>;
    using key_type = key_t<store_type>;

    using transaction_type = std::conditional_t<St::shared, void, typename transaction_of<store_type>::type>;
    using context_type =
        std::conditional_t<St::shared, Context, InTransactionContext<Context, transaction_type>>;
    using batch_context_type =
        std::conditional_t<St::shared, BatchContext, InTransactionContext<BatchContext, transaction_type>>;
    static constexpr HandlerForm form = handler_form<H, row_type, context_type, batch_context_type>();

    static constexpr bool leasing = St::shared && LeasingStore<store_type>;
    /// Whether a failed attempt can be written down while its transaction goes on.
    static constexpr bool delays = offers_v<store_type, ability::delay>;

    S store;
    E executor;
    H handler;
    St strategy;
    C clock;
    L limiter;
    R retry;
    O observer;
    Pace pace;
    TimeLimit time_limit;
};

}  // namespace fila::inline v1::detail
