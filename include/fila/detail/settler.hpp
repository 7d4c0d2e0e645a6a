// SPDX-License-Identifier: MIT
// Settler: takes every finished chunk each time it comes round, and settles all of them in one call. So
// settling is coalesced without a timer: what finishes while one statement runs goes into the next.
#pragma once

#include <fila/detail/backoff.hpp>
#include <fila/detail/worker.hpp>

namespace fila::inline v1::detail {

template <class L>
class Settler final : public Lane {
    using P = typename L::parts_type;
    using S = typename L::S;
    using F = typename L::F;
    using Chunk = typename L::Chunk;

public:
    explicit Settler(L& ledger) : Lane{"settler"}, ledger_{ledger} {}

    Step step() noexcept override {
        if constexpr (ImmediateStore<S>)
            return take_turns();
        else
            return advance();
    }
    /// A store that never waits is settled by whoever has finished rows, which takes less than to wake a thread.
    /// One at a time; what the others bring, they leave to the one who is at it.
    void rouse() noexcept override {
        if constexpr (ImmediateStore<S>) {
            auto const s = take_turns();
            if (s.kind == Step::idle && s.until == TimePoint::max()) return;
            // Only its own thread can wait until then, or end.
            if (s.kind == Step::done) turns_.store(0);
        }
        bell().ring();
    }

private:
    Step take_turns() noexcept {
        if (turns_.fetch_add(1) > 0) return {Step::idle};
        for (;;) {
            auto const seen = turns_.load();
            Step s{Step::again};
            while (s.kind == Step::again) s = advance();
            // When all is done the turn is kept: nobody begins a settle after the run.
            if (s.kind == Step::done || turns_.fetch_sub(seen) == seen) return s;
        }
    }
    Step advance() noexcept {
        try {
            switch (state_) {
                case State::gather:
                    return gather();
                case State::call:
                    return call();
                case State::apply:
                    return apply();
            }
        } catch (std::exception const& e) {  // no memory for our own books
            ledger_.tally.fault("settle", e.what(), true);
        } catch (...) {
            ledger_.tally.fault("settle", "an exception that is not a std::exception", true);
        }
        return {Step::again};
    }

    enum class State : std::uint8_t { gather, call, apply };
    struct Place {
        F* flight;
        std::uint32_t row;
        bool doubtful = false;  ///< a first try may have been applied
    };

    Step gather() {
        Chunk* first = nullptr;  // the mailbox is a stack: turned round
        for (auto* c = ledger_.empty_mailbox(); c;) {
            auto* const next = c->next;
            c->next = first;
            first = c, c = next;
        }
        if (!first) return {ledger_.closed() ? Step::done : Step::idle};
        for (auto* c = first; c; c = c->next) chunks_.push_back(c);
        std::size_t skipped = 0;
        if constexpr (L::shared) {
            for (auto* c : chunks_) {
                auto& f = *c->flight;
                for (auto i = c->begin; i < c->end; ++i) {
                    f.mark(i).settling.store(true, std::memory_order_relaxed);
                    if (f.verdict(i) == F::Verdict::none) {
                        ++skipped;
                        continue;
                    }
                    bool const seen = !f.broken(i) && f.outcome(i).kind() != Outcome::Kind::release;
                    settlements_.push_back(
                        {f.ticket(i), std::move(f.outcome(i)), seen ? &f.batch.rows()[i] : nullptr});
                    places_.push_back({&f, i});
                }
            }
        } else {  // one row each; their workers have settled them, in their transactions
            for (auto* c : chunks_) {
                counts_ += c->flight->settled_as;
                unsettled_ += c->flight->settled_as.rows() == 0;
            }
        }
        if (skipped) counts_.lost += skipped;
        acks_.assign(settlements_.size(), Ack::lost);
        at_ = 0;
        part_ = settlements_.size();
        state_ = State::call;
        return {Step::again};
    }

    Step call() {
        if (at_ == settlements_.size()) return state_ = State::apply, Step{Step::again};
        if (clock().now() < retry_at_) {
            if (!ledger_.abandoned()) return {Step::idle, retry_at_};
            return give_up(), Step{Step::again};
        }
        auto const n = std::min(part_, settlements_.size() - at_);
        try {
            if constexpr (L::shared)
                ledger_.parts.store.settle(settlements_.view(at_, n), acks_.part(at_, n));
            answered(n);
        } catch (Error const& e) {
            ledger_.tally.fault("settle", e.what(), e.retryable());
            faulted(e.retryable() || e.maybe_applied(), e.maybe_applied(), n, e.what());
        } catch (std::exception const& e) {
            ledger_.tally.fault("settle", e.what(), true);
            faulted(true, true, n, e.what());
        } catch (...) {
            ledger_.tally.fault("settle", "an exception that is not a std::exception", true);
            faulted(true, true, n, "an exception that is not a std::exception");
        }
        return {Step::again};
    }

    void answered(std::size_t n) {
        for (auto i = at_; i < at_ + n; ++i) {
            auto const ack = acks_[i] == Ack::lost && places_[i].doubtful ? Ack::in_doubt : acks_[i];
            auto const& outcome = settlements_[i].outcome;
            count_one(counts_, ack, outcome.kind());
            if (ack == Ack::applied &&
                (outcome.kind() == Outcome::Kind::retry || outcome.kind() == Outcome::Kind::snooze))
                ledger_.note_due(outcome.delay());
        }
        at_ += n;
        part_ = settlements_.size();
        ledger_.settles.worked(clock().now());
    }

    /// The fence makes a repeat safe, and the leases are extended meanwhile. What may not be repeated, is
    /// not; what is refused for its content is found by halving, and becomes the failure of its own row.
    void faulted(bool retryable, bool maybe_applied, std::size_t n, std::string_view what) {
        auto const now = clock().now();
        if (maybe_applied)
            for (auto i = at_; i < at_ + n; ++i) places_[i].doubtful = true;
        // Of a row that is not ours any more after a doubtful try, nobody knows whether it was settled. And a
        // doubtful release is not repeated: if it was not applied, the lease frees the row.
        auto const hopeless = [](Place const& p, Outcome const& o) {
            return p.flight->mark(p.row).lost.load(std::memory_order_relaxed) ||
                   (p.doubtful && o.kind() == Outcome::Kind::release);
        };
        bool const dropped = drop_if(at_, at_ + n, hopeless);
        if (retryable) {
            auto const before = ledger_.settles.failed();
            retry_at_ = later(now, fault_backoff(before, ledger_.parts.pace.max_backoff, now));
            bool const bounded = ledger_.mode == Mode::drain || ledger_.stopping() || !P::leasing;
            if (!bounded || before + 1 < ledger_.parts.pace.max_faults) return;
            ledger_.fail(std::current_exception());
            ledger_.stop(StopReason::cancelled);
            give_up();
        } else if (n > 1) {
            part_ = n / 2;
        } else if (!dropped) {
            refuse(what);
        }
    }
    /// One row that the store refuses for what it says: the handler's outcome is replaced by a failure, and
    /// if that is refused too, the row is left to its lease.
    void refuse(std::string_view what) {
        auto& s = settlements_[at_];
        auto& p = places_[at_];
        if (s.row) {
            Invoker<L>{ledger_, *p.flight}.fail(p.row,
                                                "the outcome could not be written: " + std::string{what});
            s.outcome = std::move(p.flight->outcome(p.row));
            s.row = nullptr;
        } else {
            ++unsettled_;
            acks_[at_] = Ack::lost;
            ++at_;
        }
        part_ = 1;
    }
    void give_up() {
        unsettled_ += settlements_.size() - at_;
        at_ = settlements_.size();
    }
    template <class Unwanted>
    bool drop_if(std::size_t begin, std::size_t end, Unwanted unwanted) {
        auto const before = settlements_.size();
        auto kept = begin;
        for (auto i = begin; i < settlements_.size(); ++i) {
            if (i < end && unwanted(places_[i], settlements_[i].outcome)) {
                ++(places_[i].doubtful ? counts_.in_doubt : counts_.lost);
                continue;
            }
            if (kept != i) settlements_[kept] = std::move(settlements_[i]), places_[kept] = places_[i];
            ++kept;
        }
        settlements_.cut(kept), places_.cut(kept), acks_.cut(kept);
        return kept != before;
    }

    Step apply() {
        if (counts_.rows()) ledger_.tally.settled(counts_);
        if (unsettled_) ledger_.tally.unsettled(unsettled_);
        counts_ = {}, unsettled_ = 0;
        ledger_.settled(chunks_);
        chunks_.clear(), settlements_.clear(), places_.clear(), acks_.clear();
        state_ = State::gather;
        return {Step::again};
    }

    [[nodiscard]] typename P::clock_type& clock() noexcept { return ledger_.parts.clock; }

    L& ledger_;
    State state_ = State::gather;
    List<Chunk*> chunks_;
    List<settlement_t<S>> settlements_;
    List<Place> places_;
    List<Ack> acks_;
    std::size_t at_ = 0;    ///< settled so far
    std::size_t part_ = 0;  ///< how many go into one call
    RowsSettled counts_;
    std::size_t unsettled_ = 0;
    TimePoint retry_at_ = TimePoint::min();
    std::atomic<unsigned> turns_{0};  ///< those who are at it, and those who have left it to them
};

}  // namespace fila::inline v1::detail
