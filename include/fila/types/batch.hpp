// SPDX-License-Identifier: MIT
// Batch: where a store puts the rows that it claimed.
#pragma once

#include <fila/detail/list.hpp>
#include <fila/types/ticket.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// A claimed batch, in claim order. Columns, not structs: rows lie side by side for handlers that take a
/// span, tickets for `extend`. Stores append with `add`; the engine recycles the memory.
/// Thread safety: none; a batch has one writer, the claim.
template <class Row, class Key>
class Batch {
public:
    /// A row that was claimed but could not be decoded. It never reaches the handler; it is settled as a
    /// failure of its own, and its neighbours are not disturbed.
    struct Broken {
        Ticket<Key> ticket;  ///< it is ours, like the others
        History history;     ///< as the store could read it
        std::string why;     ///< what the codec threw
    };

    /// Appends a row under the fence of this claim.
    void add(Key key, std::int64_t fence, History history, Row row) {
        rows_.push_back(std::move(row));
        tickets_.push_back({std::move(key), fence});
        histories_.push_back(history);
    }
    /// Appends a row that could not be decoded; `why` is what its failure will say.
    void add_broken(Key key, std::int64_t fence, History history, std::string why) {
        broken_.push_back({{std::move(key), fence}, history, std::move(why)});
    }

    /// Rows claimed, broken ones included: what counts against the request's limit.
    [[nodiscard]] std::size_t size() const noexcept { return tickets_.size() + broken_.size(); }
    /// Neither rows nor broken ones.
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    /// Drops the rows and keeps the memory.
    void clear() noexcept { rows_.clear(), tickets_.clear(), histories_.clear(), broken_.clear(); }

    /// For handlers to work on; the place of a row in it is that of its ticket.
    [[nodiscard]] std::vector<Row>& rows() noexcept { return rows_; }
    /// The same.
    [[nodiscard]] std::vector<Row> const& rows() const noexcept { return rows_; }
    /// One for each row, broken ones apart.
    [[nodiscard]] std::span<Ticket<Key> const> tickets() const noexcept { return tickets_.view(); }
    /// One for each row, broken ones apart.
    [[nodiscard]] std::span<History const> histories() const noexcept { return histories_.view(); }
    /// Of row `i`, or of the broken one that comes behind all rows at place `i`.
    [[nodiscard]] Ticket<Key> const& ticket(std::size_t i) const noexcept {
        auto const* b = broken_at(i);
        return b ? b->ticket : tickets_[i];
    }
    /// The same of its history.
    [[nodiscard]] History const& history(std::size_t i) const noexcept {
        auto const* b = broken_at(i);
        return b ? b->history : histories_[i];
    }
    /// Null if a row is at place `i`.
    [[nodiscard]] Broken const* broken_at(std::size_t i) const noexcept {
        return i < tickets_.size() ? nullptr : &broken_[i - tickets_.size()];
    }
    /// Claimed, and not among the rows.
    [[nodiscard]] std::span<Broken const> broken() const noexcept { return broken_.view(); }

private:
    std::vector<Row> rows_;
    detail::List<Ticket<Key>> tickets_;
    detail::List<History> histories_;
    detail::List<Broken> broken_;
};

}  // namespace fila::inline v1
