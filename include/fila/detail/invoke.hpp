// SPDX-License-Identifier: MIT
// Calls the user's handler on a chunk, and turns whatever comes of it into outcomes. Nothing escapes.
#pragma once

#include <fila/detail/ledger.hpp>
#include <fila/detail/text.hpp>

namespace fila::inline v1::detail {

/// Answers a context's questions about the rows of one flight.
template <class L>
class FlightSource final : public RowSource {
    using P = typename L::parts_type;

public:
    FlightSource(L& ledger, typename L::F& flight) noexcept : ledger_{ledger}, flight_{flight} {}

    [[nodiscard]] TimePoint deadline(std::size_t row) const noexcept {
        auto const limit = ledger_.parts.time_limit.per_row;
        if (limit == forever) return TimePoint::max();
        return later(TimePoint{Duration{mark(row).started.load(std::memory_order_relaxed)}}, limit);
    }
    [[nodiscard]] StopReason stop_reason(std::size_t row) const noexcept override {
        auto const why = mark(row).stop.load(std::memory_order_relaxed);
        bool const timed = P::leasing || ledger_.parts.time_limit.per_row != forever ||
                           ledger_.tell_at() != TimePoint::max();
        if (why != StopReason::none || !timed) return why;
        auto const now = ledger_.parts.clock.now();
        // The keeper may be waiting for a store that does not answer: then nobody else would say so.
        if (P::leasing && flight_.run_out(now)) return StopReason::lease_lost;
        if (auto const told = ledger_.told(now); told != StopReason::none) return told;
        return now >= deadline(row) ? StopReason::timeout : StopReason::none;
    }
    [[nodiscard]] std::stop_token stop_token(std::size_t row) override {
        return ledger_.token(mark(row), stop_reason(row));
    }

private:
    [[nodiscard]] typename L::F::Mark& mark(std::size_t row) const noexcept {
        return flight_.mark(static_cast<std::uint32_t>(row));
    }
    L& ledger_;
    typename L::F& flight_;
};

template <class L>
class Invoker {
    using P = typename L::parts_type;
    using F = typename L::F;
    using Verdict = typename F::Verdict;
    using Row = typename P::row_type;
    static constexpr auto form = P::form;
    static constexpr bool takes_batch = form == HandlerForm::batch || form == HandlerForm::batch_context;

public:
    Invoker(L& ledger, F& flight) noexcept : ledger_{ledger}, flight_{flight}, source_{ledger, flight} {}

    void run(std::uint32_t begin, std::uint32_t end, TimePoint now) noexcept {
        // Once a chunk: what holds more than one row is over in a moment.
        run_out_ = P::leasing && flight_.run_out(now);
        for (auto i = begin; i < end;) {
            if (!startable(i))
                ++i;
            else if (flight_.broken(i))
                fail(i, "the row cannot be decoded: " + flight_.batch.broken_at(i)->why), ++i;
            else if constexpr (takes_batch)
                i = run_span(i, end);
            else
                run_row(i), ++i;
        }
    }

    /// A failed attempt: the retry policy decides, the observer hears of it. Also for a settle that a store
    /// refused.
    void fail(std::uint32_t i, std::string_view what) noexcept {
        put(i, decide(i, what, nullptr), Verdict::thrown);
    }

private:
    /// Put off for no time at all, a row would come back as fast as passes go, where they go at once.
    void put(std::uint32_t i, Outcome o, Verdict verdict) noexcept {
        bool const waits = o.kind() == Outcome::Kind::retry || o.kind() == Outcome::Kind::snooze;
        if (P::delays && ledger_.mode == Mode::run && waits && o.delay() == Duration::zero())
            o.put_off(ledger_.parts.pace.sweep);
        flight_.outcome(i) = std::move(o);
        flight_.verdict(i) = verdict;
    }

    /// Asked just before the start, not when the chunk was taken.
    bool startable(std::uint32_t i) noexcept {
        auto& m = flight_.mark(i);
        auto const why = m.stop.load(std::memory_order_relaxed);
        if (why == StopReason::none && !run_out_ && !ledger_.over()) {
            if (ledger_.parts.time_limit.per_row != forever)
                m.started.store(ledger_.parts.clock.now().time_since_epoch().count(),
                                std::memory_order_relaxed);
            return true;
        }
        // A row that is known to be somebody else's is nobody's business here; any other is given back.
        if (!m.lost.load(std::memory_order_relaxed))
            flight_.outcome(i) = release(), flight_.verdict(i) = Verdict::returned;
        return false;
    }

    void run_row(std::uint32_t i) noexcept {
        guard(i, i + 1, [&] {
            auto& row = flight_.batch.rows()[i];
            auto call = [&]() -> decltype(auto) {
                if constexpr (form == HandlerForm::row)
                    return std::invoke(ledger_.parts.handler, row);
                else
                    return with_context<Context>(
                        [&](auto& c) -> decltype(auto) { return std::invoke(ledger_.parts.handler, row, c); },
                        i, flight_.history(i), source_.deadline(i));
            };
            if constexpr (std::is_void_v<decltype(call())>)
                call(), accept(i, Outcome{});
            else
                accept(i, call());
        });
    }

    /// The rows from i that can start now, as far as they lie side by side.
    std::uint32_t run_span(std::uint32_t i, std::uint32_t end) noexcept {
        auto last = i + 1;
        while (last < end && !flight_.broken(last) && startable(last)) ++last;
        guard(i, last, [&] {
            std::span<Row const> const rows{flight_.batch.rows().data() + i, last - i};
            auto call = [&]() -> decltype(auto) {
                if constexpr (form == HandlerForm::batch)
                    return std::invoke(ledger_.parts.handler, rows);
                else
                    return with_context<BatchContext>(
                        [&](auto& c) -> decltype(auto) {
                            return std::invoke(ledger_.parts.handler, rows, c);
                        },
                        i, std::span<History const>{flight_.batch.histories().data() + i, last - i});
            };
            if constexpr (std::is_void_v<decltype(call())>) {
                call();
                for (auto k = i; k < last; ++k) accept(k, Outcome{});
            } else {
                std::vector<Outcome> each;
                for (auto&& o : call()) each.emplace_back(std::forward<decltype(o)>(o));
                if (each.size() != rows.size())
                    throw Error{"the batch handler answered " + std::to_string(each.size()) + " of " +
                                std::to_string(rows.size()) + " rows: it must return one outcome a row"};
                for (auto k = i; k < last; ++k) accept(k, std::move(each[k - i]));
            }
        });
        return last;
    }

    template <class Base, class Call, class... Args>
    decltype(auto) with_context(Call call, Args&&... args) {
        if constexpr (L::shared) {
            Base context{source_, std::forward<Args>(args)...};
            return call(context);
        } else {
            using Inside = InTransactionContext<Base, typename P::transaction_type>;
            Inside context{*flight_.grant.transaction, source_, std::forward<Args>(args)...};
            return call(context);
        }
    }

    template <class Call>
    void guard(std::uint32_t begin, std::uint32_t end, Call call) noexcept {
        auto const fail_all = [&](std::string_view what) {
            for (auto i = begin; i < end; ++i) fail(i, what);
        };
        try {
            call();
        } catch (CriticalFailure const& e) {
            fail_all(e.what());
            ledger_.critical(std::current_exception());
        } catch (std::exception const& e) {
            fail_all(e.what());
        } catch (...) {
            fail_all("an exception that is not a std::exception");
        }
    }

    void accept(std::uint32_t i, Outcome o) noexcept {
        if (o.failure()) o = decide(i, o.text(), &o);
        put(i, std::move(o), Verdict::returned);
    }

    /// `asked`: what the handler returned, if it returned. It chooses when; the policy chooses whether.
    [[nodiscard]] Outcome decide(std::uint32_t i, std::string_view what, Outcome const* asked) noexcept {
        try {
            // The run has returned without this handler: nobody is told any more, the observer least of all.
            if (ledger_.abandoned()) return release();
            auto const& h = flight_.history(i);
            Failure const failure{h.attempt(), h.failures + 1, h.crashes, printable(what),
                                  key_text(flight_.ticket(i).key)};
            auto const decided = [&]() -> Outcome {
                if (asked && asked->kind() == Outcome::Kind::dead_letter) return dead_letter(failure.what);
                try {
                    auto o = ledger_.parts.retry.decide(failure);
                    if (asked && o.kind() == Outcome::Kind::retry) return retry(asked->delay(), failure.what);
                    return {o.kind(), o.delay(), printable(o.text())};
                } catch (std::exception const& e) {
                    ledger_.tally.fault("retry policy", e.what(), false);
                } catch (...) {
                    ledger_.tally.fault("retry policy", "an exception that is not a std::exception", false);
                }
                return retry(Duration::zero(), failure.what);
            }();
            ledger_.tally.tell(RowFailed{failure, decided.kind()});
            return decided;
        } catch (...) {  // no memory for words: still a failure
            return {Outcome::Kind::retry, Duration::zero(), {}};
        }
    }

    L& ledger_;
    F& flight_;
    FlightSource<L> source_;
    bool run_out_ = false;  ///< others may have the rows: none is started, all are given back
};

}  // namespace fila::inline v1::detail
