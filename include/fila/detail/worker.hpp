// SPDX-License-Identifier: MIT
// Worker: takes a chunk, runs it, hands it on. The executor runs a pool of them; the claimer has one of its
// own. In a transaction it asks for the row first, and settles it last.
#pragma once

#include <fila/detail/invoke.hpp>

namespace fila::inline v1::detail {

/// Throws if a claim broke its contract.
inline void check_rows(std::size_t returned, std::size_t limit) {
    if (returned > limit)
        throw Error{"the store returned " + std::to_string(returned) + " rows where " +
                    std::to_string(limit) + " were asked for"};
}
/// One settlement's answer, in a report's words.
inline void count_one(RowsSettled& s, Ack ack, Outcome::Kind kind) noexcept {
    if (ack == Ack::lost) {
        ++s.lost;
    } else if (ack == Ack::in_doubt) {
        ++s.in_doubt;
    } else {
        switch (kind) {
            case Outcome::Kind::complete:
                ++s.completed;
                break;
            case Outcome::Kind::retry:
                ++s.retried;
                break;
            case Outcome::Kind::snooze:
                ++s.snoozed;
                break;
            case Outcome::Kind::release:
                ++s.released;
                break;
            case Outcome::Kind::discard:
                ++s.discarded;
                break;
            case Outcome::Kind::dead_letter:
                ++s.dead_lettered;
                break;
        }
    }
}

template <class L>
class Worker final : public Lane {
    using F = typename L::F;
    using Chunk = typename L::Chunk;
    using Verdict = typename F::Verdict;

public:
    enum class Kind : bool { pooled, own_hand };
    explicit Worker(L& ledger, Kind kind = Kind::pooled) : Lane{"worker"}, ledger_{ledger}, kind_{kind} {}

    [[nodiscard]] bool holds_chunk() const noexcept { return chunk_; }
    /// Whether the last chunk took long, so that its settle should not wait for another.
    [[nodiscard]] bool slow() const noexcept { return slow_; }

    Step step() noexcept override {
        if (!chunk_) {
            std::shared_ptr<void> farewell;  // destroyed last: it may be the engine, and with it this lane
            if (auto* c = ledger_.take(want_, kind_ == Kind::pooled ? this : nullptr, woken_, farewell)) {
                chunk_ = c;
                return {Step::again};
            }
            return {Step::idle};
        }
        if constexpr (!L::shared)
            if (auto* const errand = chunk_->flight->errand) return ask(*chunk_->flight, *errand);
        if (!ran_) return run();
        return finish();
    }

private:
    static constexpr bool batches =
        L::parts_type::form == HandlerForm::batch || L::parts_type::form == HandlerForm::batch_context;
    static constexpr std::uint32_t most = 64;
    static constexpr std::uint32_t span = 256;

    /// For the row of a transaction of this worker's own. Not when the run is over, nor while commits fail.
    Step ask(F& f, Errand<typename L::S>& errand) noexcept {
        auto& parts = ledger_.parts;
        f.errand = nullptr;
        f.claimed_at = parts.clock.now();
        errand.asked = !ledger_.over() && f.claimed_at >= ledger_.claims_from();
        if (errand.asked) try {
                errand.result = parts.strategy.claim(parts.store, f.grant, errand.request, f.batch);
                check_rows(f.size(), 1);
                errand.row = f.size() != 0 && parts.clock.now() < ledger_.hard_at();
                if constexpr (SavepointTransaction<typename L::parts_type::transaction_type>)
                    if (errand.row) f.grant.transaction->mark();
                ledger_.claims.worked(parts.clock.now());
            } catch (...) {
                errand.error = std::current_exception();
                errand.row = false;
            }
        bool const row = errand.row;
        if (!row) f.batch.clear(), f.grant = {};
        ledger_.answer(f, errand);
        if (!row) chunk_ = nullptr;
        return {Step::again};
    }
    Step run() noexcept {
        using namespace std::chrono_literals;
        auto const start = ledger_.parts.clock.now();
        Invoker<L>{ledger_, *chunk_->flight}.run(chunk_->begin, chunk_->end, start);
        auto const took = ledger_.parts.clock.now() - start;
        if constexpr (!batches) {
            if (took < 5us && want_ < most && !ledger_.limited())
                want_ *= 2;
            else if (took > 15us && want_ > 1)
                want_ /= 2;
        }
        ledger_.measure(took, chunk_->end - chunk_->begin);
        slow_ = took > 1ms;
        ran_ = true;
        return {Step::again};
    }
    Step finish() noexcept {
        if constexpr (!L::shared) settle_transaction(*chunk_->flight);
        ledger_.finished(chunk_);
        chunk_ = nullptr;
        ran_ = false;
        return {Step::again};
    }

    /// This worker holds the transaction: it alone can settle, and lets go of it whatever happens. The settler
    /// counts what came of it, if the run has not ended without the row.
    void settle_transaction(F& f) noexcept {
        auto grant = std::exchange(f.grant, {});
        if (ledger_.abandoned()) return;
        try {
            settle_transaction(f, *grant.transaction, f.settled_as);
        } catch (...) {  // only telling is left there, and that needs memory
            ledger_.tally.fault("commit", "out of memory", false);
        }
    }
    /// Leaves `counts` as they are if the row could not be settled.
    template <class T>
    void settle_transaction(F& f, T& transaction, RowsSettled& counts) {
        constexpr bool marks = SavepointTransaction<T>;
        if (f.verdict(0) == Verdict::none || f.outcome(0).kind() == Outcome::Kind::release) {
            ++(f.verdict(0) == Verdict::none ? counts.lost : counts.released);
            return;  // nothing was started: rolled back
        }
        bool thrown = f.verdict(0) == Verdict::thrown;
        for (int tries = 0; tries < 2; ++tries) {
            if (thrown && !(marks && records(f.outcome(0)))) {
                ++counts.retried;  // rolled back, and the pass goes on behind it
                return;
            }
            try {
                if constexpr (marks)
                    if (thrown) transaction.back();
                auto const ack = settle_one(f, transaction, thrown);
                if (ack == Ack::applied) {
                    if constexpr (!FinishingTransaction<T>) transaction.commit();
                    ledger_.settles.worked(ledger_.parts.clock.now());
                } else {
                    ledger_.tally.fault("settle", lost_in_transaction, false);
                }
                count_one(counts, ack, f.outcome(0).kind());
                if (ack == Ack::applied && !f.outcome(0).final()) ledger_.note_due(f.outcome(0).delay());
                return;
            } catch (Error const& e) {
                ledger_.tally.fault("commit", e.what(), e.retryable());
                if (e.retryable() || e.maybe_applied()) ledger_.commit_failed();
                if (e.maybe_applied()) ++counts.in_doubt;
                if (e.maybe_applied() || e.retryable() || thrown) return;
                // The database refuses what the handler left: that is the row's failure, and is recorded as
                // one.
                Invoker<L>{ledger_, f}.fail(0, e.what());
                thrown = true;
            } catch (std::exception const& e) {
                ledger_.tally.fault("commit", e.what(), true);
                ledger_.commit_failed();
                return;
            } catch (...) {
                ledger_.tally.fault("commit", "an exception that is not a std::exception", true);
                ledger_.commit_failed();
                return;
            }
        }
    }
    /// Whether the store can write this failure down; if not, a rollback says the same.
    static bool records(Outcome const& o) noexcept { return o.final() || L::parts_type::delays; }

    /// And commits, where the two go together.
    template <class T>
    Ack settle_one(F& f, T& transaction, bool thrown) {
        using S = typename L::S;
        settlement_t<S> const settlement{f.ticket(0), f.outcome(0),
                                         thrown || f.broken(0) ? nullptr : &f.batch.rows()[0]};
        Ack ack = Ack::lost;
        if constexpr (FinishingTransaction<T>)
            transaction.finish(std::span{&settlement, 1}, std::span{&ack, 1});
        else
            transaction.settle(std::span{&settlement, 1}, std::span{&ack, 1});
        return ack;
    }

    static constexpr char const* lost_in_transaction =
        "the transaction that holds the row no longer does: was it ended by the handler? Nothing was settled";

    L& ledger_;
    Chunk* chunk_ = nullptr;
    std::uint32_t want_ = batches ? span : 1;  // row handlers take more at once while they are quick
    bool ran_ = false, slow_ = false;
    bool woken_ = true;
    Kind kind_;
};

}  // namespace fila::inline v1::detail
