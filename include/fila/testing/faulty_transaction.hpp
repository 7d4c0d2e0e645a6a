// SPDX-License-Identifier: MIT
// FaultyTransaction: a transaction with one fault planted in it.
#pragma once

#include <fila/store/store_concept.hpp>
#include <fila/testing/fault.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

template <Transaction T>
class FaultyTransaction {
public:
    using row_type = row_t<T>;
    using key_type = key_t<T>;
    using cursor_type = cursor_t<T>;

    /// `begin` begins another one, for faults that end this one too early.
    FaultyTransaction(T inner, Fault fault, std::function<std::optional<T>()> begin)
        : inner_{std::move(inner)}, fault_{fault}, begin_{std::move(begin)} {}
    FaultyTransaction(FaultyTransaction&& o) noexcept
        : inner_{std::exchange(o.inner_, std::nullopt)}, fault_{o.fault_}, begin_{std::move(o.begin_)} {}
    FaultyTransaction& operator=(FaultyTransaction&& o) noexcept {
        end();
        inner_ = std::exchange(o.inner_, std::nullopt);
        fault_ = o.fault_, begin_ = std::move(o.begin_);
        return *this;
    }
    ~FaultyTransaction() { end(); }

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, batch_t<T>& out) {
        auto const result = inner_->claim(request, out);
        if (fault_ == Fault::locks_nothing) begin_anew();
        if (fault_ == Fault::commit_completes_all)
            for (auto const& ticket : out.tickets()) claimed_.push_back({ticket, complete(), nullptr});
        if (fault_ == Fault::meets_own_locks && !out.empty()) {
            if (met_) out.add(met_->first.key, met_->first.fence, {}, met_->second);
            met_.emplace(out.tickets().front(), out.rows().front());
        }
        return result;
    }
    void settle(std::span<settlement_t<T> const> settlements, std::span<Ack> acks) {
        inner_->settle(settlements, acks);
        if (fault_ == Fault::settles_before_commit) inner_->commit();
    }
    void commit() {
        std::vector<Ack> acks(claimed_.size());
        inner_->settle(claimed_, acks);
        if (fault_ != Fault::commits_nothing) inner_->commit();
    }
    /// Settles, and commits unless something was lost: a broken one commits all the same.
    void finish(std::span<settlement_t<T> const> settlements, std::span<Ack> acks) {
        settle(settlements, acks);
        bool const all = std::all_of(acks.begin(), acks.end(), [](Ack ack) { return ack == Ack::applied; });
        if (all || fault_ == Fault::finishes_what_is_lost) commit();
    }
    void mark()
        requires SavepointTransaction<T>
    {
        inner_->mark();
    }
    void back()
        requires SavepointTransaction<T>
    {
        if (fault_ == Fault::back_drops_locks)
            begin_anew();
        else if (fault_ != Fault::back_forgets_nothing)
            inner_->back();
    }

private:
    void begin_anew() {
        inner_.reset();
        inner_ = begin_();
    }
    void end() noexcept {
        if (!inner_) return;
        try {
            if (fault_ == Fault::commits_on_rollback) inner_->commit();
        } catch (...) {  // a destructor does not throw
        }
        inner_.reset();
    }

    std::optional<T> inner_;
    Fault fault_;
    std::function<std::optional<T>()> begin_;
    std::vector<settlement_t<T>> claimed_;
    std::optional<std::pair<ticket_t<T>, row_type>> met_;
};

}  // namespace fila::inline v1::testing
