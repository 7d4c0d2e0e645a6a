// SPDX-License-Identifier: MIT
// Ledger: everything that lanes share, and each decision that two of them share, as one function.
//
// A thread meets another in three places only: under the ledger's mutex, in a flight's word, in the mailbox.
#pragma once

#include <fila/detail/backoff.hpp>
#include <fila/detail/batch_meter.hpp>
#include <fila/detail/due_hints.hpp>
#include <fila/detail/flight.hpp>
#include <fila/detail/lane.hpp>
#include <fila/detail/parts.hpp>
#include <fila/detail/pulse.hpp>
#include <fila/detail/run_end.hpp>
#include <fila/detail/tally.hpp>
#include <fila/executor/task.hpp>

namespace fila::inline v1::detail {

enum class Mode : std::uint8_t { drain, run };

template <class P>
class Ledger : public RunEnd<P> {
    using End = RunEnd<P>;

public:
    using End::stopping, End::stop_reason, End::fail;
    using parts_type = P;
    using S = typename P::store_type;
    using F = Flight<S, typename P::grant_type>;
    using Chunk = typename F::Chunk;
    static constexpr bool shared = P::strategy_type::shared;

    Ledger(P& p, Mode m, DrainOptions const& o)
        : End{p, o.time_limit == forever ? TimePoint::max() : later(p.clock.now(), o.time_limit)},
          parts{p},
          mode{m},
          options{o},
          tally{p.observer},
          meter{std::max<std::size_t>(1, p.executor.concurrency()), p.pace.batch, shared} {}

    Ledger(Ledger const&) = delete;
    Ledger& operator=(Ledger const&) = delete;
    /// The slots of abandoned rows are free again when the last abandoned handler has returned.
    ~Ledger() {
        if (abandoned_ && in_hand_) parts.limiter.release(in_hand_);
    }

    P& parts;
    Mode const mode;
    DrainOptions const options;
    Tally<typename P::observer_type> tally;
    BatchMeter meter;  ///< guarded by the mutex, but for `add` and `cheap`
    DueHints due;
    Pulse claims, settles, heartbeats;

    // The lanes, for their bells; set before anything runs.
    Lane *claimer = nullptr, *settler = nullptr, *keeper = nullptr;
    List<Lane*> pool;  ///< the workers that the executor runs
    std::weak_ptr<void> engine;

    void join_pool(Lane& worker) {
        pool.push_back(&worker);
        idle_.push_back(&worker);
    }

    // ---- the end of a run -------------------------------------------------------------------------------
    /// From any thread, any number of times; the first reason stays.
    void stop(StopReason why) noexcept {
        this->begin_end(why);
        claimer->bell().ring();
        keeper->bell().ring();
    }
    void wake() noexcept {
        woken_.store(true);
        claimer->bell().ring();
    }
    void take_wake() noexcept { woken_.store(false); }
    [[nodiscard]] bool woken() const noexcept { return woken_.load(); }
    /// The executor would not take a worker: the claimer's own thread does the work.
    [[nodiscard]] bool refused() const noexcept { return refused_.load(); }

    /// A handler threw a CriticalFailure: the run ends with it.
    void critical(std::exception_ptr e) noexcept {
        fail(std::move(e));
        stop(StopReason::cancelled);
        trip_all(StopReason::cancelled);
    }
    /// Nothing in hand, every worker idle: settler and keeper may end.
    [[nodiscard]] bool try_close() {
        {
            std::lock_guard lock{mutex_};
            if (in_hand_ || answers_ || idle_.size() != pool.size()) return false;
            closed_ = true;
        }
        settler->bell().ring();
        keeper->bell().ring();
        return true;
    }
    /// Whether a worker is in a verb of the store for a row.
    [[nodiscard]] bool asking() {
        std::lock_guard lock{mutex_};
        return asking_ > 0;
    }
    /// The hard stop: closed with rows in hand. The engine stays for the handlers that still run.
    void abandon() {
        {
            std::lock_guard lock{mutex_};
            closed_ = abandoned_ = true;
            if (idle_.size() != pool.size()) self_ = engine.lock();
        }
        settler->bell().ring();
        keeper->bell().ring();
    }
    /// What this run has done so far.
    [[nodiscard]] Report report() {
        auto r = tally.report();
        std::lock_guard lock{mutex_};
        if (abandoned_) r.abandoned = in_hand_;
        r.timed_out = stop_reason() == StopReason::timeout;
        return r;
    }

    [[nodiscard]] Health health() {
        auto const now = parts.clock.now();
        Health h{true, claims.health(now), settles.health(now), heartbeats.health(now), 0, {}};
        std::lock_guard lock{mutex_};
        h.running = !closed_;
        h.in_flight = in_hand_ - asking_;
        for (auto& f : flights_)
            if (f.in_use) h.oldest_in_flight = std::max(h.oldest_in_flight, now - f.claimed_at);
        return h;
    }

    /// Whoever sets a limit expects handlers that hang at times: then nothing may wait behind one.
    [[nodiscard]] bool limited() const noexcept {
        return parts.pace.hard_stop_timeout != forever || parts.time_limit.per_row != forever;
    }

    // ---- flights: claimer -------------------------------------------------------------------------------
    [[nodiscard]] F* new_flight() {
        std::lock_guard lock{mutex_};
        if (free_.empty()) {
            // Room for it wherever it will be put, so that no hand-over fails.
            free_.reserve(++made_), ready_.reserve(made_);
            return &flights_.add();
        }
        auto* f = free_.back();
        free_.pop_back();
        return f;
    }
    void drop(F* f) {
        f->batch.clear();
        f->grant = {};
        std::lock_guard lock{mutex_};
        free_.push_back(f);
    }
    void publish(F* f, bool own_hand) {
        std::unique_lock lock{mutex_};
        f->in_use = true;
        open(f, f->size());
        if (!own_hand) wake_one(lock);  // else the caller's hand opens it at once, and wakes who is of use
    }
    /// For one row, which whoever takes it has to ask for.
    void send(F* f) {
        std::unique_lock lock{mutex_};
        ++asking_;
        open(f, 1);
        wake_one(lock);
    }
    /// The errands that are back, in no order.
    [[nodiscard]] Errand<S>* answers() noexcept {
        return answers_.load() ? answers_.exchange(nullptr) : nullptr;
    }
    /// Whether a lease is lost, forgotten, or has run out by our own clock: its row may come back to us.
    [[nodiscard]] bool lost_any(F const& newer, TimePoint now) {
        std::lock_guard lock{mutex_};
        for (auto& f : flights_)
            if (f.in_use && &f != &newer && f.lost(newer, now)) return true;
        return false;
    }
    /// Whether this very row is in hand already. Unless it is known to have `crashed`, only a lost lease is looked at.
    [[nodiscard]] bool holds(key_t<S> const& key, F const& newer, bool crashed, TimePoint now) {
        std::lock_guard lock{mutex_};
        for (auto& f : flights_) {
            if (!f.in_use || &f == &newer || !(crashed || f.lost(newer, now))) continue;
            for (std::uint32_t i = 0; i < f.size(); ++i)
                if (!f.mark(i).settled.load(std::memory_order_relaxed) && f.ticket(i).key == key) return true;
        }
        return false;
    }
    [[nodiscard]] BatchMeter::Room room() {
        std::lock_guard lock{mutex_};
        return meter.room(in_hand_);
    }
    [[nodiscard]] bool work() {
        std::lock_guard lock{mutex_};
        return any_untaken();
    }
    [[nodiscard]] std::size_t in_hand() {
        std::lock_guard lock{mutex_};
        return in_hand_;
    }

    // ---- chunks: workers --------------------------------------------------------------------------------
    /// A chunk, or null: then a pool worker is idle, and must not write one more member, the engine may be gone.
    /// After a hard stop `farewell` receives the engine from the last one. `woken`: it comes from idleness.
    [[nodiscard]] Chunk* take(std::uint32_t want, Lane* pooled, bool& woken,
                              std::shared_ptr<void>& farewell) {
        if constexpr (!shared) want = 1;
        if (auto* f = front_.load(std::memory_order_acquire))
            if (auto* c = f->take(want)) return taken(c, std::exchange(woken, false));
        std::unique_lock lock{mutex_};
        while (!ready_.empty()) {
            auto* f = ready_[0];
            if (auto* c = f->take(want)) return lock.unlock(), taken(c, std::exchange(woken, false));
            ready_without(f);
        }
        if (pooled) {
            woken = true;
            idle_.push_back(pooled);
            if (abandoned_ && idle_.size() == pool.size())
                farewell = std::move(self_);
            else if (ClosableStore<S> || mode == Mode::drain || stopping())
                claimer->bell().ring();
        }
        return nullptr;
    }
    /// An errand is back. Without a row the flight is another's from here on.
    void answer(F& f, Errand<S>& errand) noexcept {
        bool const row = errand.row;
        bool room = true;
        {
            std::lock_guard lock{mutex_};
            --asking_;
            f.in_use = row;
            if (row) {
                tally.count_claimed(1);
                room = meter.room(in_hand_).rows > 0;
            } else {
                --in_hand_;
                ready_without(&f);
                free_.push_back(&f);
            }
            errand.next = answers_.load(std::memory_order_relaxed);
            while (!answers_.compare_exchange_weak(errand.next, &errand)) {}
        }
        row ? tally.tell(RowsClaimed{1}) : parts.limiter.release(1);
        if (room || stopping()) claimer->bell().ring();  // else the next settle rings
    }
    void finished(Chunk* c) {
        c->next = mailbox_.load(std::memory_order_relaxed);
        while (!mailbox_.compare_exchange_weak(c->next, c)) {}
        settler->rouse();
    }
    [[nodiscard]] Chunk* empty_mailbox() noexcept { return mailbox_.exchange(nullptr); }

    void measure(Duration took, std::uint32_t rows) noexcept {
        if (meter.add(took, rows)) claimer->bell().ring();
    }
    void settled(List<Chunk*> const& chunks) {
        std::size_t n = 0;
        bool of_use = false;
        {
            std::lock_guard lock{mutex_};
            for (auto* c : chunks) {
                auto& f = *c->flight;
                auto const rows = c->end - c->begin;
                for (auto i = c->begin; i < c->end; ++i)
                    f.mark(i).settled.store(true, std::memory_order_relaxed);
                n += rows;
                f.unsettled -= rows;
                if (f.unsettled) continue;
                ++f.generation;
                f.in_use = false;
                f.batch.clear();
                ready_without(&f);
                free_.push_back(&f);
            }
            in_hand_ -= n;
            meter.adapt();
            of_use = meter.room(in_hand_).worth_a_claim() || !any_untaken();
        }
        parts.limiter.release(n);
        if (of_use) claimer->bell().ring();
    }

    /// A row was put off: nothing will ring when it comes due, so the claimer must know.
    void note_due(Duration delay) {
        if constexpr (!P::delays) return;  // it is due already, and waits for the next pass
        if (due.note(later(parts.clock.now(), delay))) claimer->bell().ring();
    }

    // ---- commits: workers -------------------------------------------------------------------------------
    /// In a catch block. While a database takes no commits, handlers run for nothing: from the second in a
    /// row on, each puts off the next claim; and a drain gives up, as it does for every other verb.
    void commit_failed() noexcept {
        auto const before = settles.failed();
        if (before == 0 && parts.pace.max_faults > 1) return;
        auto const now = parts.clock.now();
        auto const until = later(now, fault_backoff(before, parts.pace.max_backoff, now));
        hold_claims(until);
        if (mode == Mode::run || before + 1 < parts.pace.max_faults) return;
        fail(std::current_exception());
        stop(StopReason::cancelled);
    }
    void hold_claims(TimePoint until) noexcept { claims_from_.store(until.time_since_epoch().count()); }
    [[nodiscard]] TimePoint claims_from() const noexcept { return TimePoint{Duration{claims_from_.load()}}; }

    // ---- stop reasons: keeper, claimer ------------------------------------------------------------------
    template <class Each>  // Each(F&, row) for every row in hand that is not settled, under the lock
    void each_in_hand(Each each) {
        std::lock_guard lock{mutex_};
        for (auto& f : flights_)
            if (f.in_use)
                for (std::uint32_t i = 0; i < f.size(); ++i)
                    if (!f.mark(i).settled.load(std::memory_order_relaxed)) each(f, i);
    }
    template <class Do>
    void with_lock(Do what) {
        std::lock_guard lock{mutex_};
        what();
    }
    void trip_all(StopReason why) noexcept {
        TrippedTokens tokens;
        each_in_hand([&](F& f, std::uint32_t i) { f.mark(i).trip(why, tokens); });
        tokens.request_stop();
    }
    [[nodiscard]] std::stop_token token(typename F::Mark& m, StopReason now) {
        std::stop_source source{std::nostopstate};
        {
            std::lock_guard lock{mutex_};
            if (!m.source.stop_possible()) m.source = std::stop_source{};
            source = m.source;
            if (now == StopReason::none) now = m.stop.load(std::memory_order_relaxed);
        }
        if (now != StopReason::none) source.request_stop();
        return source.get_token();
    }

private:
    using End::mutex_, End::closed_, End::abandoned_, End::self_;

    void open(F* f, std::uint32_t rows) {
        in_hand_ += rows;
        f->open(rows);
        ready_.push_back(f);
        if (!front_.load(std::memory_order_relaxed)) front_.store(f, std::memory_order_release);
    }
    [[nodiscard]] bool any_untaken() const noexcept {
        for (auto* f : ready_)
            if (f->untaken()) return true;
        return false;
    }
    void ready_without(F* gone) noexcept {
        ready_.drop_if([gone](F const* f) { return f == gone; });
        front_.store(ready_.empty() ? nullptr : ready_[0], std::memory_order_release);
    }
    void wake_one(std::unique_lock<std::mutex>& lock) {
        if (idle_.empty()) return;
        auto* w = idle_.back();
        idle_.pop_back();
        lock.unlock();
        try {
            parts.executor.execute(Task{*w});
            refused_ = false;
        } catch (...) {  // not accepted: the worker is idle still, and the next batch posts it again
            lock.lock();
            idle_.push_back(w);
            lock.unlock();
            refused_ = true;
            claimer->bell().ring();
            tally.fault("execute", "the executor refused a task", true);
        }
    }
    [[nodiscard]] Chunk* taken(Chunk* c, bool woken) {
        if (c->end == c->flight->size())
            claimer->bell().ring();  // nothing may be waiting now: fetch before somebody starves
        // Whoever opens a batch, or was woken for one, wakes the next worker if there is something for it:
        // a chain as long as the work, and no wake without a reason.
        if (c->begin != 0 && !woken) return c;
        std::unique_lock lock{mutex_};
        if (c->flight->untaken() > 0 || ready_.size() > 1) wake_one(lock);
        return c;
    }
    Chain<F> flights_;
    List<F*> free_;
    List<F*> ready_;  // few: one batch, or a row for each thread
    List<Lane*> idle_;
    std::size_t in_hand_ = 0, asking_ = 0;  // of those in hand, the ones that are only asked for
    std::size_t made_ = 0;                  // flights

    std::atomic<Duration::rep> claims_from_{TimePoint::min().time_since_epoch().count()};
    std::atomic<bool> woken_{false}, refused_{false};
    alignas(64) std::atomic<F*> front_{nullptr};
    alignas(64) std::atomic<Chunk*> mailbox_{nullptr};
    std::atomic<Errand<S>*> answers_{nullptr};  // changed from null under the mutex
};

}  // namespace fila::inline v1::detail
