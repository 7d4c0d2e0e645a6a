// SPDX-License-Identifier: MIT
// Engine: the ledger and its lanes, for one drain or one run. It owns no thread, waits for nothing, and reads
// no clock but the policy's: a driver steps its lanes.
//
//   claimer  look ──reserve n──▶ claim ──▶ publish ──▶ look      keeper  look ─▶ extend ─▶ apply ─▶ look
//   worker   take a chunk ──▶ run ──▶ finish                     settler gather ─▶ settle ─▶ apply ─▶ gather
//
// In a transaction the claimer sends workers for rows:
//
//   claimer  look ──reserve 1──▶ send ──▶ look, and hear answers  worker  take ─▶ ask ─▶ run ─▶ settle, finish
#pragma once

#include <fila/detail/claimer.hpp>
#include <fila/detail/keeper.hpp>
#include <fila/detail/settler.hpp>

#include <array>

namespace fila::inline v1::detail {

template <class P>
class Engine {
public:
    using L = Ledger<P>;

    [[nodiscard]] static std::shared_ptr<Engine> make(std::shared_ptr<P> parts, Mode mode,
                                                      DrainOptions const& options) {
        std::shared_ptr<Engine> e{new Engine{std::move(parts), mode, options}};
        e->ledger_.engine = e;
        return e;
    }

    [[nodiscard]] L& ledger() noexcept { return ledger_; }
    [[nodiscard]] Lane& claimer() noexcept { return claimer_; }
    [[nodiscard]] Lane& settler() noexcept { return settler_; }
    [[nodiscard]] Lane& keeper() noexcept { return keeper_; }
    [[nodiscard]] std::array<Lane*, 3> lanes() noexcept { return {&claimer_, &settler_, &keeper_}; }

    /// Whether there is anything to keep: leases, or time limits that handlers are told of by a token.
    [[nodiscard]] bool needs_keeper() const noexcept {
        return P::leasing || parts_->time_limit.per_row != forever;
    }

private:
    Engine(std::shared_ptr<P> parts, Mode mode, DrainOptions const& options)
        : parts_{std::move(parts)},
          ledger_{*parts_, mode, options},
          claimer_{ledger_},
          settler_{ledger_},
          keeper_{ledger_} {
        ledger_.claimer = &claimer_, ledger_.settler = &settler_, ledger_.keeper = &keeper_;
        auto const n = parts_->executor.concurrency();
        for (std::size_t i = 0; i < n; ++i) ledger_.join_pool(workers_.add(ledger_));
    }

    std::shared_ptr<P> parts_;
    L ledger_;
    Chain<Worker<L>> workers_;
    Claimer<L> claimer_;
    Settler<L> settler_;
    Keeper<L> keeper_;
};

}  // namespace fila::inline v1::detail
