// SPDX-License-Identifier: MIT
// RowRuns: rows of a MemoryStore in claim order, many to a node: those that are pending, and those that are dead.
//
// Rows enqueued together have consecutive keys, one priority and one due time, and are claimed from the
// front. So the ordered set holds runs of keys, not keys: a million fresh rows are one node, and a claim
// trims it. Rows that come back one by one are runs of one, and join a neighbour where they fit.
#pragma once

#include <fila/types/time.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace fila::inline v1::detail {

/// A row's place in claim order.
struct RowPosition {
    std::int64_t priority = 0;
    TimePoint due{};
    std::int64_t key = 0;
    friend auto operator<=>(RowPosition const&, RowPosition const&) = default;
};

class RowRuns {
public:
    void insert(RowPosition first, std::int64_t last_key) {
        auto next = runs_.upper_bound(first);
        if (next != runs_.begin()) {
            auto before = std::prev(next);
            if (same_group(before->first, first) && before->second + 1 == first.key) {
                before->second = last_key;
                join_with_next(before);
                return;
            }
        }
        join_with_next(emplace(next, first, last_key));
    }
    void insert(RowPosition row) { insert(row, row.key); }

    void remove(RowPosition row) {
        auto run = std::prev(runs_.upper_bound(row));
        if (run->first < row) run = behind({row.priority, row.due, row.key - 1});
        trim(run, row.key + 1);
    }

    /// Takes at most `limit` rows behind `after` that are due at `now`, in order, each handed to
    /// `visit(key)`. If `visit` throws, its row stays; those before it are taken.
    template <class Visit>
    std::size_t take(std::optional<RowPosition> const& after, TimePoint now, std::size_t limit, Visit visit) {
        std::size_t taken = 0;
        auto run = after ? behind(*after) : runs_.begin();
        while (taken < limit && run != runs_.end()) {
            if (run->first.due > now) {
                // Nothing more of this priority is due; less urgent rows may be.
                run = runs_.upper_bound({run->first.priority, TimePoint::max(), max_key});
                continue;
            }
            auto key = run->first.key;
            try {
                for (; taken < limit && key <= run->second; ++key, ++taken) visit(key);
            } catch (...) {
                trim(run, key);
                throw;
            }
            run = trim(run, key);
        }
        return taken;
    }

    /// In order, until `visit(key)` says no.
    template <class Visit>
    void each(Visit visit) const {
        for (auto const& [first, last] : runs_)
            for (auto key = first.key; key <= last; ++key)
                if (!visit(key)) return;
    }

private:
    using Runs = std::map<RowPosition, std::int64_t>;  // first row -> last key
    static constexpr auto max_key = std::numeric_limits<std::int64_t>::max();

    static bool same_group(RowPosition const& a, RowPosition const& b) {
        return a.priority == b.priority && a.due == b.due;
    }
    void join_with_next(Runs::iterator run) {
        auto next = std::next(run);
        if (next == runs_.end() || !same_group(run->first, next->first) || run->second + 1 != next->first.key)
            return;
        run->second = next->second;
        erase(next);
    }
    /// The node of the run that ended last serves the next one: a stream, each fill of which is one run, allocates
    /// nothing.
    Runs::iterator emplace(Runs::iterator hint, RowPosition const& first, std::int64_t last_key) {
        if (spare_.empty()) return runs_.emplace_hint(hint, first, last_key);
        spare_.key() = first;
        spare_.mapped() = last_key;
        return runs_.insert(hint, std::move(spare_));
    }
    Runs::iterator erase(Runs::iterator run) {
        auto const next = std::next(run);
        spare_ = runs_.extract(run);
        return next;
    }
    /// The first run behind `after`; a run that `after` lies in is cut there.
    Runs::iterator behind(RowPosition const& after) {
        auto next = runs_.upper_bound(after);
        if (next == runs_.begin()) return next;
        auto before = std::prev(next);
        if (!same_group(before->first, after) || before->second <= after.key) return next;
        next = emplace(next, {after.priority, after.due, after.key + 1}, before->second);
        before->second = after.key;
        return next;
    }
    /// Drops the keys below `key`; answers the first run with rows left.
    Runs::iterator trim(Runs::iterator run, std::int64_t key) {
        if (key > run->second) return erase(run);
        if (key == run->first.key) return run;
        auto next = std::next(run);
        auto node = runs_.extract(run);
        node.key().key = key;
        return runs_.insert(next, std::move(node));
    }

    Runs runs_;
    Runs::node_type spare_;
};

}  // namespace fila::inline v1::detail
