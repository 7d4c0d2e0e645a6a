// SPDX-License-Identifier: MIT
// Handler: the user's work. Any callable of one of these forms; it may throw anything.
//
// | form | for |
// |---|---|
// | `H(Row const&)` | one row |
// | `H(Row&)` | the same; members mapped as `.output` are written back by the settle |
// | `H(Row const&, Context&)`, `H(Row&, Context&)` | the same, with attempt, deadline and stop reason |
// | `H(std::span<Row const>)`, `H(std::span<Row const>, BatchContext&)` | many rows; one outcome a row |
//
// Returns nothing (completed) or an `Outcome`; a batch handler nothing, or a range with one `Outcome` a row.
// It may throw anything when called, and nothing when destroyed.
// A throw of any type is a failure of the row, or of each row of the span: the retry policy decides. Only
// fila::CriticalFailure ends the run. Called from as many threads at once as the executor has.
#pragma once

#include <fila/handler/context.hpp>

#include <ranges>

#include <concepts>
#include <functional>
#include <span>
#include <type_traits>

namespace fila::inline v1 {

namespace detail {

enum class HandlerForm { none, row, row_context, batch, batch_context };

template <class H, class Row, class RowContext, class RowsContext>
consteval HandlerForm handler_form() {
    if constexpr (std::invocable<H&, Row&>)
        return HandlerForm::row;
    else if constexpr (std::invocable<H&, Row&, RowContext&>)
        return HandlerForm::row_context;
    else if constexpr (std::invocable<H&, std::span<Row const>>)
        return HandlerForm::batch;
    else if constexpr (std::invocable<H&, std::span<Row const>, RowsContext&>)
        return HandlerForm::batch_context;
    else
        return HandlerForm::none;
}

template <class H, class Row, class RowContext, class RowsContext>
consteval auto handler_result() {
    constexpr auto form = handler_form<H, Row, RowContext, RowsContext>();
    if constexpr (form == HandlerForm::row)
        return std::type_identity<std::invoke_result_t<H&, Row&>>{};
    else if constexpr (form == HandlerForm::row_context)
        return std::type_identity<std::invoke_result_t<H&, Row&, RowContext&>>{};
    else if constexpr (form == HandlerForm::batch)
        return std::type_identity<std::invoke_result_t<H&, std::span<Row const>>>{};
    else if constexpr (form == HandlerForm::batch_context)
        return std::type_identity<std::invoke_result_t<H&, std::span<Row const>, RowsContext&>>{};
    else
        return std::type_identity<void>{};
}

template <class R>
concept OutcomeRange =
    std::ranges::input_range<R> && std::convertible_to<std::ranges::range_value_t<R>, Outcome>;

template <HandlerForm form, class R>
inline constexpr bool handler_returns_well =
    std::is_void_v<R> ||
    (form == HandlerForm::batch || form == HandlerForm::batch_context ? OutcomeRange<R>
                                                                      : std::convertible_to<R, Outcome>);

}  // namespace detail

template <class H, class Row, class RowContext = Context, class RowsContext = BatchContext>
concept Handler = std::is_nothrow_destructible_v<H> &&
                  detail::handler_form<H, Row, RowContext, RowsContext>() != detail::HandlerForm::none &&
                  detail::handler_returns_well<
                      detail::handler_form<H, Row, RowContext, RowsContext>(),
                      typename decltype(detail::handler_result<H, Row, RowContext, RowsContext>())::type>;

namespace detail {

template <class H, class Row, class RowContext, class RowsContext>
consteval bool check_handler() {
    constexpr auto form = handler_form<H, Row, RowContext, RowsContext>();
    static_assert(
        std::is_nothrow_destructible_v<H>,
        "fila handler: destroying it may throw, which would end the program: what it holds must have "
        "destructors that are noexcept");
    static_assert(std::move_constructible<H>, "fila handler: must be movable: the Processor keeps it");
    static_assert(
        form != HandlerForm::none,
        "fila handler: cannot be called with the store's row: needs (Row const&), (Row&), either with a "
        "fila::Context&, or (std::span<Row const>), where Row is the store's row_type");
    if constexpr (form != HandlerForm::none) {
        using R = typename decltype(handler_result<H, Row, RowContext, RowsContext>())::type;
        static_assert(
            handler_returns_well<form, R>,
            "fila handler: must return nothing or a fila::Outcome (of a span: nothing, or a range with one "
            "fila::Outcome a row)");
    }
    return true;
}

}  // namespace detail
}  // namespace fila::inline v1
