// SPDX-License-Identifier: MIT
// Context: what a handler may know of its row, and how it learns that it should stop.
#pragma once

#include <fila/types.hpp>

#include <span>
#include <stop_token>

namespace fila::inline v1 {

namespace detail {

/// What a context asks the engine while the handler runs.
class RowSource {
public:
    [[nodiscard]] virtual StopReason stop_reason(std::size_t row) const noexcept = 0;
    [[nodiscard]] virtual std::stop_token stop_token(std::size_t row) = 0;

protected:
    ~RowSource() = default;
};

template <class>
inline constexpr bool never = false;

}  // namespace detail

/// Given by reference to handlers of one row that ask for it; valid while the handler runs.
///
///   [](Job const& job, fila::Context& context) {
///       for (auto const& part : job.parts) {
///           if (context.stop_requested()) return fila::snooze(1s);
///           send(part);
///       }
///       return fila::complete();
///   }
///
/// Stopping is a request: a handler that ignores it is waited for (see Pace::hard_stop_timeout).
/// Thread safety: const members may be called from any thread while the handler runs.
class Context {
public:
    /// The engine's own.
    Context(detail::RowSource& source, std::size_t row, History history, TimePoint deadline) noexcept
        : source_{&source}, row_{row}, history_{history}, deadline_{deadline} {}
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;

    /// The number of this attempt, from 1. Crashes count.
    [[nodiscard]] std::uint32_t attempt() const noexcept { return history_.attempt(); }
    /// What the row has been through before this attempt.
    [[nodiscard]] History const& history() const noexcept { return history_; }
    /// When the row's time limit passes, on the processor's clock; TimePoint::max() if it has none.
    [[nodiscard]] TimePoint deadline() const noexcept { return deadline_; }

    /// Whether there is a reason to stop; as cheap as `stop_reason`.
    [[nodiscard]] bool stop_requested() const noexcept { return stop_reason() != StopReason::none; }
    /// Cheap enough for a tight loop, and exact: it compares the clock with the deadline itself.
    [[nodiscard]] StopReason stop_reason() const noexcept { return source_->stop_reason(row_); }
    /// For code that takes a token. Made on the first call; tripped by the engine's heartbeat thread, so a
    /// little later than stop_reason() says it. With InlineExecutor and InTransaction there is no such
    /// thread: poll stop_reason() there.
    [[nodiscard]] std::stop_token stop_token() const { return source_->stop_token(row_); }

    /// The open transaction that holds the row, under InTransaction only.
    template <class T = void>
    void transaction() const {
        static_assert(
            detail::never<T>,
            "fila: Context::transaction() exists under InTransaction only: add fila::InTransaction{} to the "
            "policies of the Processor");
    }

private:
    detail::RowSource* source_;
    std::size_t row_;
    History history_;
    TimePoint deadline_;
};

/// The same for handlers of a span of rows: each question is asked of one of them.
class BatchContext {
public:
    /// The engine's own.
    BatchContext(detail::RowSource& source, std::size_t first, std::span<History const> histories) noexcept
        : source_{&source}, first_{first}, histories_{histories} {}
    BatchContext(BatchContext const&) = delete;
    BatchContext& operator=(BatchContext const&) = delete;

    /// Rows of the span; each `i` below is less.
    [[nodiscard]] std::size_t size() const noexcept { return histories_.size(); }
    /// The number of this attempt of row `i`, from 1. Crashes count.
    [[nodiscard]] std::uint32_t attempt(std::size_t i) const noexcept { return histories_[i].attempt(); }
    /// What row `i` has been through before this attempt.
    [[nodiscard]] History const& history(std::size_t i) const noexcept { return histories_[i]; }
    /// Why the handler should leave row `i` alone; `none`: it need not.
    [[nodiscard]] StopReason stop_reason(std::size_t i) const noexcept {
        return source_->stop_reason(first_ + i);
    }
    /// Whether any row of the batch should stop.
    [[nodiscard]] bool stop_requested() const noexcept {
        for (std::size_t i = 0; i < size(); ++i)
            if (stop_reason(i) != StopReason::none) return true;
        return false;
    }

    /// The open transaction that holds the rows, under InTransaction only.
    template <class T = void>
    void transaction() const {
        static_assert(
            detail::never<T>,
            "fila: BatchContext::transaction() exists under InTransaction only: add fila::InTransaction{} to "
            "the policies of the Processor");
    }

private:
    detail::RowSource* source_;
    std::size_t first_;
    std::span<History const> histories_;
};

/// What a handler gets under InTransaction; take it as `auto& context`. What is written through
/// `transaction()` commits together with the row's new status, or not at all. Never commit it yourself.
template <class Base, class Transaction>
class InTransactionContext : public Base {
public:
    /// The engine's own.
    template <class... Args>
    explicit InTransactionContext(Transaction& transaction, Args&&... args)
        : Base{std::forward<Args>(args)...}, transaction_{&transaction} {}

    /// The store's own handle where it has one (pqxx::transaction_base&, sqlite3*), else the transaction.
    [[nodiscard]] decltype(auto) transaction() const {
        if constexpr (requires(Transaction& t) { t.handle(); })
            return transaction_->handle();
        else
            return *transaction_;
    }

private:
    Transaction* transaction_;
};

}  // namespace fila::inline v1
