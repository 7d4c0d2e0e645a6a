// SPDX-License-Identifier: MIT
// Claimer: decides when to ask the store for rows, and when the run is over.
#pragma once

#include <fila/detail/backoff.hpp>
#include <fila/detail/worker.hpp>

namespace fila::inline v1::detail {

template <class L>
class Claimer final : public Lane {
    using P = typename L::parts_type;
    using S = typename L::S;
    using F = typename L::F;

public:
    explicit Claimer(L& ledger) : Lane{"claimer"}, ledger_{ledger}, hand_{ledger, Worker<L>::Kind::own_hand} {
        begin_pass(clock().now());
    }

    Step step() noexcept override {
        try {
            switch (state_) {
                case State::look:
                    return look();
                case State::rescue:
                    return rescue();
                case State::inspect:
                    return inspect();
                case State::claim:
                    return claim();
                case State::publish:
                    return publish();
            }
        } catch (std::exception const& e) {  // no memory for our own books
            ledger_.tally.fault("claim", e.what(), true);
        } catch (...) {
            ledger_.tally.fault("claim", "an exception that is not a std::exception", true);
        }
        return {Step::again};
    }

private:
    enum class State : std::uint8_t { look, rescue, inspect, claim, publish };
    static constexpr bool inspects = InspectableStore<S>;

    [[nodiscard]] typename P::clock_type& clock() noexcept { return ledger_.parts.clock; }
    [[nodiscard]] Pace const& pace() const noexcept { return ledger_.parts.pace; }
    [[nodiscard]] S& store() noexcept { return ledger_.parts.store; }
    [[nodiscard]] bool until_nothing_open() const noexcept {
        return ledger_.mode == Mode::drain && ledger_.options.until == DrainUntil::nothing_open;
    }

    // ---- look: the one place that decides what comes next -----------------------------------------------
    Step look() {
        auto const now = clock().now();
        if (now >= ledger_.ends_at && !ledger_.stopping()) ledger_.stop(StopReason::timeout);
        if constexpr (!L::shared) hear_all(now);
        if (ledger_.stopping() || gave_up_) return wind_down(now);
        if (hand_.holds_chunk()) return work(now);
        if (pass_over_) {
            if (state_ = next_after_pass(now); state_ != State::look) return {Step::again};
        } else if (ledger_.mode == Mode::run && now - pass_began_ >= pace().sweep) {
            begin_pass(now);
        }
        if (!pass_over_) {
            if (rescue_due(now)) return state_ = State::rescue, Step{Step::again};
            if (now >= claims_from() && reserve()) return state_ = State::claim, Step{Step::again};
        }
        if (runs_chunks() && ledger_.work()) return work(now);
        if (over()) return close(ledger_.ends_at);
        return {Step::idle, std::min(ledger_.ends_at, pass_over_ ? next_look() : next_event(now))};
    }
    /// A step of our own hand. After a slow chunk the settler has its turn, if it shares our thread: what is
    /// done must not stay unsettled until all that is in hand is done.
    Step work(TimePoint now) {
        hand_.step();
        return hand_.holds_chunk() || !hand_.slow() ? Step{Step::again} : Step{Step::idle, now};
    }
    /// The caller runs chunks itself where nobody else does, or where they are measured to be cheap. But none
    /// may hang here, there would be no more claims; and one that ends with a commit waits for a disk.
    [[nodiscard]] bool runs_chunks() const noexcept {
        if (ledger_.pool.empty() || ledger_.refused()) return true;
        return L::shared && ledger_.meter.cheap() && !ledger_.limited();
    }
    /// Not before, after faults: of the store's verbs here, of commits in the workers' hands.
    [[nodiscard]] TimePoint claims_from() const noexcept {
        return std::max(retry_at_, ledger_.claims_from());
    }
    /// Of a pass under way that has no room: what time alone can change.
    [[nodiscard]] TimePoint next_event(TimePoint now) const noexcept {
        auto t = ledger_.mode == Mode::run ? later(pass_began_, pace().sweep) : TimePoint::max();
        if (auto const from = claims_from(); now < from) t = std::min(t, from);
        // A limiter may be shared, or grant by the time: nobody rings then.
        if (denied_)
            t = std::min(t, later(now, std::min<Duration>(pace().interval, std::chrono::milliseconds{100})));
        if constexpr (P::leasing) t = std::min(t, next_rescue_);
        return t;
    }
    /// When a pass is over: the next one, or the moment when a row that we put off is due, or what we were
    /// woken for.
    [[nodiscard]] TimePoint next_look() const {
        auto const t = std::min(next_pass_, ledger_.due.next());
        return ledger_.woken() ? std::min(t, heed_wakes_from_) : t;
    }

    void begin_pass(TimePoint now, bool woken = false) {
        woken_pass_ = woken;
        pass_over_ = false;
        pass_began_ = now;
        cursor_ = {};
        errands_.begin_pass();
        handed_out_ = 0;
    }
    void end_pass(TimePoint now) {
        pass_over_ = true;
        inspected_ = false;
        if (woken_pass_) {
            // For nothing, again and again: others are quicker, or somebody only notifies. Ten a second will do.
            woken_for_nothing_ = handed_out_ == 0 ? woken_for_nothing_ + 1 : 0;
            if (woken_for_nothing_ >= 10) heed_wakes_from_ = later(now, std::chrono::milliseconds{100});
        }
        // Rows were there: look again at once. Not where failed rows cannot be put off, or they would spin.
        bool const at_once = ledger_.mode == Mode::run && handed_out_ > 0 && P::delays;
        next_pass_ = at_once ? now : later(now, until_nothing_open() ? poll() : pace().interval);
    }
    /// While others hold rows: often enough to find their leases run out.
    [[nodiscard]] Duration poll() const noexcept {
        if constexpr (P::leasing)
            return std::min(pace().interval, ledger_.parts.strategy.beat());
        else
            return std::min<Duration>(pace().interval, std::chrono::seconds{1});
    }

    /// A pass ended: begin the next, ask whether anything is open, or neither (look).
    [[nodiscard]] State next_after_pass(TimePoint now) {
        if (supply_ == Supply::closed || nothing_open_) return State::look;
        bool const woken = ledger_.woken() && now >= heed_wakes_from_;
        if (ledger_.mode == Mode::drain && !ClosableStore<S> && !until_nothing_open()) return State::look;
        if (until_nothing_open() && !inspected_ && ledger_.in_hand() == 0) return State::inspect;
        if (!woken && now < next_look()) return State::look;
        ledger_.take_wake();
        ledger_.due.forget(now);
        begin_pass(now, woken);
        return State::look;
    }
    /// Whether no row will be asked for any more.
    [[nodiscard]] bool over() const noexcept {
        if (!pass_over_) return false;
        if (supply_ == Supply::closed || nothing_open_) return true;
        return ledger_.mode == Mode::drain && !ClosableStore<S> && !until_nothing_open();
    }

    // ---- the end ----------------------------------------------------------------------------------------
    Step wind_down(TimePoint now) {
        // All workers may be busy for minutes: rows that nobody has started are given back by our own hand.
        if (hand_.holds_chunk() || ledger_.work()) {
            if (ledger_.stopping() || runs_chunks() || hand_.holds_chunk())
                return hand_.step(), Step{Step::again};
        }
        if (!ledger_.stopping()) return close(ledger_.ends_at);
        if (!told_of_stop_) ledger_.tally.tell(Stopping{ledger_.stop_reason()}), told_of_stop_ = true;
        auto const soft = ledger_.tell_at();
        auto const hard = ledger_.hard_at();
        if (now >= soft && !tripped_) ledger_.trip_all(ledger_.stop_reason()), tripped_ = true;
        // Handlers may be left behind, the store may not: its verbs come to their end.
        if (now >= hard && ledger_.asking()) return {Step::idle};
        if (now >= hard) return ledger_.abandon(), Step{Step::done};
        return close(now < soft ? soft : hard);
    }
    Step close(TimePoint until) {
        if (ledger_.try_close()) return {Step::done};
        return {Step::idle, until};
    }

    // ---- claim ------------------------------------------------------------------------------------------
    /// Slots before rows: what cannot start soon is not leased. Waits until half a batch is free, or nothing
    /// is left to start: no tiny claims under load, and no starving either.
    [[nodiscard]] bool reserve() {
        if (!L::shared && !errands_.may_send()) return false;
        auto const room = ledger_.room();
        if (room.rows == 0) return false;
        bool const busy = ledger_.work();
        if (busy && !room.worth_a_claim()) return false;
        auto const got = acquire(std::min(room.rows, room.batch));
        if (denied_ = got == 0; denied_) return false;
        if (busy && got * 2 < room.batch) return ledger_.parts.limiter.release(got), false;
        slots_ = got;
        flight_ = ledger_.new_flight();
        return true;
    }
    /// A limiter that throws grants nothing, and is asked again later.
    [[nodiscard]] std::size_t acquire(std::size_t rows) noexcept {
        try {
            return ledger_.parts.limiter.acquire(rows);
        } catch (std::exception const& e) {
            ledger_.tally.fault("limiter", e.what(), true);
        } catch (...) {
            ledger_.tally.fault("limiter", "an exception that is not a std::exception", true);
        }
        return 0;
    }
    Step claim() {
        if constexpr (!L::shared) return send();
        auto const asked_at = clock().now();
        try {
            ClaimRequest<cursor_t<S>> request{slots_, cursor_, {}};
            if constexpr (requires { ledger_.parts.strategy.lease; })
                request.lease = ledger_.parts.strategy.lease;
            auto const result =
                ledger_.parts.strategy.claim(store(), flight_->grant, request, flight_->batch);
            check_rows(flight_->size(), slots_);
            flight_->claimed_at = asked_at;
            flight_->era = result.era;
            flight_->leased_until.store(later(asked_at, request.lease), std::memory_order_relaxed);
            cursor_ = result.cursor;
            supply_ = result.supply;
            state_ = State::publish;
            ledger_.claims.worked(clock().now());
        } catch (...) {
            ledger_.drop(flight_);
            ledger_.parts.limiter.release(slots_);
            state_ = State::look;
            faulted("claim", ledger_.claims);
        }
        return {Step::again};
    }
    Step publish() {
        std::size_t const n = flight_->size();
        auto const now = clock().now();
        state_ = State::look;
        ledger_.parts.limiter.release(slots_ - n);
        if (n == 0) {
            ledger_.drop(flight_);
            // With more to come but nothing to be had just now (no free connection): soon again.
            if (supply_ == Supply::more) retry_at_ = later(now, fault_backoff(nothing_had_++, poll(), now));
        } else {
            nothing_had_ = 0;
            ledger_.tally.claimed(n);
            flight_->prepare(flight_->size());
            handed_out_ += n - set_aside_our_own(now);
            // For what our own hand can take at once, nobody is woken.
            bool const own = !ledger_.pool.empty() && runs_chunks() && !hand_.holds_chunk();
            ledger_.publish(flight_, own);
            if (own) hand_.step();
        }
        if (supply_ != Supply::more) end_pass(now);
        return {Step::again};
    }
    /// A row whose lease was lost in an outage, or whose claim the store forgot in a crash, may come back while its
    /// handler still runs here: it is never run beside itself, but given back.
    std::size_t set_aside_our_own([[maybe_unused]] TimePoint now) {
        std::size_t n = 0;
        if constexpr (P::leasing) {
            bool const lost_any = ledger_.lost_any(*flight_, now);
            for (std::uint32_t i = 0; i < flight_->size(); ++i) {
                bool const crashed = !offers_v<S, ability::crashes> || flight_->history(i).crashes > 0;
                if (!crashed && !lost_any) continue;
                if (!ledger_.holds(flight_->ticket(i).key, *flight_, crashed, now)) continue;
                flight_->mark(i).stop.store(StopReason::lease_lost, std::memory_order_relaxed);
                ++n;
            }
        }
        return n;
    }

    // ---- claim, in a transaction: a worker asks ---------------------------------------------------------
    Step send() {
        flight_->prepare(1);
        flight_->errand = errands_.send();
        state_ = State::look;
        ledger_.send(flight_);
        return {Step::again};
    }
    /// Errands that are back.
    void hear_all(TimePoint now) {
        for (auto* errand = ledger_.answers(); errand;) {
            auto* const next = errand->next;
            hear(*errand, now);
            errands_.keep(errand);
            errand = next;
        }
        if (!pass_over_ && errands_.pass_is_dry()) end_pass(now);
    }
    void hear(Errand<S>& errand, TimePoint now) {
        errands_.back(errand);
        handed_out_ += errand.row;
        if (errand.error) {
            if (!errands_.refused(errand)) return;
            try {
                std::rethrow_exception(errand.error);
            } catch (...) {
                faulted("claim", ledger_.claims);
            }
            if (gave_up_) ledger_.hold_claims(TimePoint::max());  // those on their way need not ask
        } else if (errand.asked) {
            if (errands_.answered(errand) && supply_ != Supply::closed) supply_ = errand.result.supply;
            if (errand.row)
                nothing_had_ = 0;
            else if (errand.result.supply == Supply::more && errands_.refused(errand))
                retry_at_ = later(now, fault_backoff(nothing_had_++, poll(), now));
        }
    }

    // ---- rescue, inspect --------------------------------------------------------------------------------
    [[nodiscard]] bool rescue_due(TimePoint now) const noexcept {
        if constexpr (P::leasing)
            return now >= next_rescue_;
        else
            return false;
    }
    Step rescue() {
        state_ = State::look;
        if constexpr (P::leasing) {
            constexpr std::size_t most = 1000;
            try {
                auto const rescued = store().rescue(RescueLimits{ledger_.parts.strategy.max_crashes, most});
                ledger_.tally.rescued(rescued);
                if (rescued.rows() < most)
                    next_rescue_ =
                        later(clock().now(), std::min(pace().interval, ledger_.parts.strategy.beat()));
                rescues_.worked(clock().now());
            } catch (...) {
                faulted("rescue", rescues_);
                next_rescue_ = retry_at_;
            }
        }
        return {Step::again};
    }
    Step inspect() {
        state_ = State::look;
        if constexpr (inspects) {
            try {
                nothing_open_ = store().counts(1).open() == 0;
                inspected_ = true;
                inspections_.worked(clock().now());
            } catch (...) {
                faulted("inspect", inspections_);
                next_pass_ = retry_at_;
                inspected_ = true;
            }
        }
        return {Step::again};
    }

    /// In a catch block. A drain gives up after a bounded number of faults; a run goes on, more and more
    /// slowly.
    /// `pulse`: this verb's. One that works says nothing of another that does not.
    void faulted(std::string_view stage, Pulse& pulse) {
        bool retryable = true;
        try {
            throw;
        } catch (Error const& e) {
            retryable = e.retryable() || e.maybe_applied();
            ledger_.tally.fault(stage, e.what(), retryable);
        } catch (std::exception const& e) {
            ledger_.tally.fault(stage, e.what(), retryable);
        } catch (...) {
            ledger_.tally.fault(stage, "an exception that is not a std::exception", retryable);
        }
        auto const now = clock().now();
        auto const before = pulse.failed();
        retry_at_ = later(now, fault_backoff(before, pace().max_backoff, now));
        if (ledger_.mode == Mode::drain && (!retryable || before + 1 >= pace().max_faults)) {
            ledger_.fail(std::current_exception());
            gave_up_ = true;
        }
    }

    L& ledger_;
    Worker<L> hand_;
    State state_ = State::look;
    F* flight_ = nullptr;
    std::size_t slots_ = 0;
    cursor_t<S> cursor_{};
    /// Side by side only where a row that failed is put off before its lock is let go.
    Errands<S> errands_{P::delays && SavepointTransaction<typename P::transaction_type>};
    Supply supply_ = Supply::more;
    bool pass_over_ = false, inspected_ = false, nothing_open_ = false, gave_up_ = false;
    bool tripped_ = false, told_of_stop_ = false, denied_ = false;
    std::size_t handed_out_ = 0;
    Pulse rescues_, inspections_;
    unsigned nothing_had_ = 0;
    bool woken_pass_ = false;
    unsigned woken_for_nothing_ = 0;
    TimePoint pass_began_{}, next_pass_{}, heed_wakes_from_ = TimePoint::min();
    TimePoint next_rescue_ = TimePoint::min(), retry_at_ = TimePoint::min();
};

}  // namespace fila::inline v1::detail
