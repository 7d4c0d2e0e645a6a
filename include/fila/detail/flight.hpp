// SPDX-License-Identifier: MIT
// Flight: a claimed batch under way, from its claim until its last row is settled; or in a transaction one row, from
// when a worker is sent for it.
#pragma once

#include <fila/detail/errands.hpp>
#include <fila/observer/observer_concept.hpp>
#include <fila/store/store_concept.hpp>

#include <algorithm>
#include <atomic>
#include <stop_token>

namespace fila::inline v1::detail {

/// Stop tokens that are collected under the ledger's lock and tripped when it is let go: their callbacks are
/// users' code.
class TrippedTokens {
public:
    void add(std::stop_source const& token) { tokens_.push_back(token); }
    void request_stop() noexcept {
        for (auto& t : tokens_) {
            try {
                t.request_stop();
            } catch (...) {  // a callback that throws: the handler's own affair, and it has been told
            }
        }
    }

private:
    List<std::stop_source> tokens_;
};

/// Recycled, and never freed while the engine lives: a late worker may still look at `word_`.
/// Workers share one by taking chunks of it; the keeper reads its tickets, the settler its outcomes, in
/// place.
template <class S, class Grant>
class Flight {
public:
    Flight() = default;
    Flight(Flight const&) = delete;
    Flight& operator=(Flight const&) = delete;
    ~Flight() { delete[] places_; }

    /// Rows [begin, end) in one worker's hands. The chunk that begins at row i lives at place i, so that
    /// nothing is allocated per hand-off.
    struct Chunk {
        Chunk* next;
        Flight* flight;
        std::uint32_t begin, end;
    };
    struct Mark {
        static constexpr auto not_started = Duration::min().count();
        std::atomic<StopReason> stop{StopReason::none};
        std::atomic<bool> settling{false};  ///< its handler is done: from here on the settle's answer counts
        std::atomic<bool> settled{false};
        std::atomic<bool> lost{false};  ///< the store said so; a lease that merely ran out is not yet lost
        std::atomic<Duration::rep> started{not_started};  ///< kept where a time limit asks for it
        std::stop_source source{
            std::nostopstate};  ///< made when a handler asks; guarded by the ledger's mutex

        /// Under the ledger's lock. The first reason stays.
        void trip(StopReason why, TrippedTokens& tokens) {
            auto none = StopReason::none;
            if (stop.compare_exchange_strong(none, why) && source.stop_possible()) tokens.add(source);
        }
    };
    enum class Verdict : std::uint8_t { none, returned, thrown };

    batch_t<S> batch;
    [[no_unique_address]] Grant grant;
    Errand<S>* errand = nullptr;  ///< in a transaction: what its worker has to ask for first
    RowsSettled settled_as;       ///< the same: what its worker made of the row
    TimePoint claimed_at{};
    /// By our clock: how long the leases certainly last. The keeper moves it while handlers ask.
    std::atomic<TimePoint> leased_until{};
    std::uint64_t era = 0;         ///< of the store, at the claim; the claimer's
    std::uint64_t generation = 0;  ///< guarded by the ledger's mutex, as are those below
    std::uint32_t unsettled = 0;
    bool in_use = false;
    bool lost_some = false;  ///< a row of it, by the store's word

    /// From here on others may have taken the rows, and nobody may have been able to tell us.
    [[nodiscard]] bool run_out(TimePoint now) const noexcept {
        return now >= leased_until.load(std::memory_order_relaxed);
    }
    /// Under the ledger's lock: whether rows of it may be somebody else's, or be among those of `newer`.
    [[nodiscard]] bool lost(Flight const& newer, TimePoint now) const noexcept {
        return lost_some || run_out(now) || era != newer.era;
    }
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(batch.size()); }
    [[nodiscard]] bool broken(std::uint32_t i) const noexcept { return batch.broken_at(i); }
    [[nodiscard]] ticket_t<S> const& ticket(std::uint32_t i) const noexcept { return batch.ticket(i); }
    [[nodiscard]] History const& history(std::uint32_t i) const noexcept { return batch.history(i); }
    [[nodiscard]] Mark& mark(std::uint32_t i) noexcept { return places_[i].mark; }
    [[nodiscard]] Mark const& mark(std::uint32_t i) const noexcept { return places_[i].mark; }
    /// Written by the row's worker, read by the settler.
    [[nodiscard]] Outcome& outcome(std::uint32_t i) noexcept { return places_[i].outcome; }
    [[nodiscard]] Verdict& verdict(std::uint32_t i) noexcept { return places_[i].verdict; }

    /// Fresh marks for what was claimed, or will be. Nobody can take a row before `open`.
    void prepare(std::uint32_t n) {
        if (capacity_ < n) {
            auto* const wider = new Place[n];
            delete[] places_;
            places_ = wider;
            capacity_ = n;
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            places_[i].outcome = Outcome{};
            places_[i].verdict = Verdict::none;
            auto& m = places_[i].mark;
            m.stop.store(StopReason::none, std::memory_order_relaxed);
            m.settling.store(false, std::memory_order_relaxed);
            m.settled.store(false, std::memory_order_relaxed);
            m.lost.store(false, std::memory_order_relaxed);
            m.started.store(Mark::not_started, std::memory_order_relaxed);
            if (m.source.stop_possible()) m.source = std::stop_source{std::nostopstate};
        }
        unsettled = n;
        lost_some = false;
        settled_as = {};
    }
    void open(std::uint32_t n) noexcept { word_.store(std::uint64_t{n} << 32, std::memory_order_release); }
    [[nodiscard]] std::uint32_t untaken() const noexcept {
        auto const w = word_.load(std::memory_order_relaxed);
        return next_of(w) < size_of(w) ? size_of(w) - next_of(w) : 0;
    }
    /// The next chunk of at most `want` rows, or null. From any thread.
    [[nodiscard]] Chunk* take(std::uint32_t want) noexcept {
        if (untaken() == 0) return nullptr;  // look before adding: idle polls must not creep into the size
        auto const w = word_.fetch_add(want, std::memory_order_acq_rel);
        auto const n = size_of(w), begin = next_of(w);
        if (begin >= n) return nullptr;
        auto& chunk = places_[begin].chunk;
        chunk = {nullptr, this, begin, begin + std::min(want, n - begin)};
        return &chunk;
    }

private:
    static std::uint32_t size_of(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w >> 32); }
    static std::uint32_t next_of(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w); }

    struct Place {  // of one row
        Mark mark;
        Outcome outcome;
        Chunk chunk{};
        Verdict verdict = Verdict::none;
    };
    Place* places_ = nullptr;
    std::size_t capacity_ = 0;
    // Size and next untaken row in one word: a late fetch_add on a recycled flight reads both of one moment.
    alignas(64) std::atomic<std::uint64_t> word_{0};
};

}  // namespace fila::inline v1::detail
