// SPDX-License-Identifier: MIT
// Keeper: extends the lease of everything in hand, rows that wait included, until the last one is settled;
// tells the handlers of those that it could not extend; and trips time limits.
#pragma once

#include <fila/detail/backoff.hpp>
#include <fila/detail/ledger.hpp>

namespace fila::inline v1::detail {

template <class L>
class Keeper final : public Lane {
    using P = typename L::parts_type;
    using S = typename L::S;
    using F = typename L::F;

public:
    explicit Keeper(L& ledger) : Lane{"keeper"}, ledger_{ledger} {
        if constexpr (P::leasing) next_beat_ = later(clock().now(), ledger.parts.strategy.beat());
        if (ledger.parts.time_limit.per_row != forever) next_look_ = later(clock().now(), look_every());
    }

    Step step() noexcept override {
        try {
            switch (state_) {
                case State::look:
                    return look();
                case State::call:
                    return call();
                case State::apply:
                    return apply();
            }
        } catch (std::exception const& e) {  // no memory for our own books
            ledger_.tally.fault("extend", e.what(), true);
        } catch (...) {
            ledger_.tally.fault("extend", "an exception that is not a std::exception", true);
        }
        return {Step::again};
    }

private:
    enum class State : std::uint8_t { look, call, apply };
    struct Place {
        F* flight;
        std::uint64_t generation;
        std::uint32_t row;
    };

    Step look() {
        if (ledger_.closed()) return {Step::done};
        auto const now = clock().now();
        if (now >= next_look_) {
            next_look_ = later(now, look_every());
            trip_overdue(now);
        }
        if (!told_all_) {
            if (auto const why = ledger_.told(now); why != StopReason::none)
                ledger_.trip_all(why), told_all_ = true;
        }
        if constexpr (P::leasing) {
            if (now >= next_beat_) return gather(now);
        }
        return {Step::idle,
                std::min(std::min(next_beat_, next_look_), told_all_ ? TimePoint::max() : ledger_.tell_at())};
    }
    [[nodiscard]] Duration look_every() const noexcept {
        return std::clamp<Duration>(ledger_.parts.time_limit.per_row / 8, std::chrono::milliseconds{1},
                                    std::chrono::seconds{1});
    }
    [[nodiscard]] bool overdue(F& f, std::uint32_t i, TimePoint now) const noexcept {
        auto const started = f.mark(i).started.load(std::memory_order_relaxed);
        return started != F::Mark::not_started &&
               now >= later(TimePoint{Duration{started}}, ledger_.parts.time_limit.per_row);
    }
    void trip_overdue(TimePoint now) {
        TrippedTokens tokens;
        ledger_.each_in_hand([&](F& f, std::uint32_t i) {
            if (overdue(f, i, now)) f.mark(i).trip(StopReason::timeout, tokens);
        });
        tokens.request_stop();
    }

    Step gather(TimePoint now) {
        beat_began_ = now;
        ledger_.each_in_hand([&](F& f, std::uint32_t i) {
            // A handler past its time limit keeps its slot, but not its lease: another process may take the
            // row.
            if (ledger_.parts.time_limit.per_row != forever && overdue(f, i, now)) return;
            if (f.mark(i).lost.load(std::memory_order_relaxed)) return;
            places_.push_back({&f, f.generation, i});
            tickets_.push_back(f.ticket(i));
        });
        acks_.assign(tickets_.size(), Ack::lost);
        if constexpr (P::leasing) next_beat_ = later(now, ledger_.parts.strategy.beat());
        state_ = State::call;
        return {Step::again};
    }
    Step call() {
        if constexpr (P::leasing) {
            try {
                if (!tickets_.empty())
                    ledger_.parts.store.extend(tickets_.view(), ledger_.parts.strategy.lease,
                                               acks_.part(0, acks_.size()));
                ledger_.heartbeats.worked(clock().now());
                state_ = State::apply;
            } catch (Error const& e) {
                faulted(e.what(), e.retryable());
            } catch (std::exception const& e) {
                faulted(e.what(), true);
            } catch (...) {
                faulted("an exception that is not a std::exception", true);
            }
        }
        return {Step::again};
    }
    void faulted(std::string_view what, bool retryable) {
        ledger_.tally.fault("extend", what, retryable);
        auto const now = clock().now();
        [[maybe_unused]] auto const before = ledger_.heartbeats.failed();
        if constexpr (P::leasing)
            next_beat_ = later(now, std::min(fault_backoff(before, ledger_.parts.pace.max_backoff, now),
                                             ledger_.parts.strategy.beat()));
        tell_run_out(now);
        reset();
    }
    /// Leases that certainly ran out while the store could not be reached may be somebody else's by now:
    /// their handlers are told, but whether they are lost is the fence's word.
    void tell_run_out(TimePoint now) {
        TrippedTokens tokens;
        ledger_.each_in_hand([&](F& f, std::uint32_t i) {
            if (f.run_out(now)) f.mark(i).trip(StopReason::lease_lost, tokens);
        });
        tokens.request_stop();
    }
    Step apply() {
        TrippedTokens tokens;
        std::size_t lost = 0;
        ledger_.with_lock([&] {
            for (std::size_t k = 0; k < places_.size(); ++k) {
                auto const& [f, generation, i] = places_[k];
                // Settled or recycled meanwhile: the answer is about somebody else.
                if (f->generation != generation || f->mark(i).settled.load(std::memory_order_relaxed))
                    continue;
                if constexpr (P::leasing && offers_v<S, ability::heartbeat>)
                    f->leased_until.store(later(beat_began_, ledger_.parts.strategy.lease),
                                          std::memory_order_relaxed);
                if (acks_[k] == Ack::applied) continue;
                f->mark(i).lost.store(true, std::memory_order_relaxed);
                f->lost_some = true;
                // Perhaps it was settled a moment ago, and so is no loss.
                if (f->mark(i).settling.load(std::memory_order_relaxed)) continue;
                f->mark(i).trip(StopReason::lease_lost, tokens);
                ++lost;
            }
        });
        tokens.request_stop();
        if (lost) ledger_.tally.tell(LeasesLost{lost});
        reset();
        return {Step::again};
    }
    void reset() noexcept {
        places_.clear(), tickets_.clear(), acks_.clear();
        state_ = State::look;
    }
    [[nodiscard]] typename P::clock_type& clock() noexcept { return ledger_.parts.clock; }

    L& ledger_;
    State state_ = State::look;
    List<Place> places_;
    List<ticket_t<S>> tickets_;
    List<Ack> acks_;
    bool told_all_ = false;
    TimePoint beat_began_{}, next_beat_ = TimePoint::max(), next_look_ = TimePoint::max();
};

}  // namespace fila::inline v1::detail
