// SPDX-License-Identifier: MIT
// Ledger: everything that lanes share, and each decision that two of them share, as one function.
//
// A thread meets another in three places only: under the ledger's mutex, in a flight's word, in the mailbox.
#pragma once

#include <fila/detail/flight.hpp>
#include <fila/detail/lane.hpp>
#include <fila/detail/parts.hpp>
#include <fila/executor/task.hpp>
#include <fila/observer/observer_concept.hpp>
#include <fila/processor/report.hpp>

#include <deque>
#include <exception>
#include <functional>

namespace fila::inline v1::detail {

enum class Mode : std::uint8_t { drain, run };

template <class P>
class Ledger {
public:
    using parts_type = P;
    using S = typename P::store_type;
    using F = Flight<S, typename P::grant_type>;
    using Chunk = typename F::Chunk;
    static constexpr bool shared = P::strategy_type::shared;

    Ledger(P& p, Mode m, DrainOptions const& o) : parts{p}, mode{m}, options{o} {
        slots = std::max<std::size_t>(1, parts.executor.concurrency());
        // Without a measurement yet: what can start at once, and one to follow.
        window_ = parts.pace.batch ? 2 * parts.pace.batch : shared ? slots + 1 : slots;
    }

    P& parts;
    Mode const mode;
    DrainOptions const options;
    std::size_t slots;  ///< handlers at once

    // The lanes, for their bells; set before anything runs.
    Lane* claimer = nullptr;
    Lane* settler = nullptr;
    Lane* keeper = nullptr;
    std::vector<Lane*> pool;  ///< the workers that the executor runs

    void join_pool(Lane& worker) {
        pool.push_back(&worker);
        idle_.push_back(&worker);
    }

    // ---- observers
    // ------------------------------------------------------------------------------------------------
    template <class Event>
    void tell(Event const& event) noexcept {
        if constexpr (std::invocable<typename P::observer_type&, Event const&>) {
            try {
                parts.observer(event);
            } catch (...) {
                observer_errors_.fetch_add(1, std::memory_order_relaxed);
            }
        }
    }
    void fault(std::string_view stage, std::string_view what, bool retryable) noexcept {
        errors_.fetch_add(1, std::memory_order_relaxed);
        tell(Faulted{stage, what, retryable});
    }
    void count(RowsSettled const& settled) {
        {
            std::lock_guard lock{mutex_};
            report_.add(settled);
        }
        tell(settled);
    }
    void count_claimed(std::size_t rows) {
        {
            std::lock_guard lock{mutex_};
            report_.claimed += rows;
        }
        tell(RowsClaimed{rows});
    }
    void count_unsettled(std::size_t rows) {
        std::lock_guard lock{mutex_};
        report_.unsettled += rows;
    }
    void count_rescued(Rescued const& rescued) {
        {
            std::lock_guard lock{mutex_};
            report_.rescued += rescued.requeued, report_.rescued_dead += rescued.dead;
        }
        if (rescued.rows()) tell(RowsRescued{rescued.requeued, rescued.dead});
    }

    // ---- the end of a run
    // -----------------------------------------------------------------------------------------
    [[nodiscard]] bool stopping() const noexcept {
        return stop_.load(std::memory_order_relaxed) != StopReason::none;
    }
    [[nodiscard]] StopReason stop_reason() const noexcept { return stop_.load(std::memory_order_relaxed); }
    /// From any thread, any number of times; the first reason stays.
    void stop(StopReason why) noexcept {
        auto none = StopReason::none;
        stop_.compare_exchange_strong(none, why);
        claimer->bell().ring();
    }
    void wake() noexcept {
        woken_.store(true);
        claimer->bell().ring();
    }
    void take_wake() noexcept { woken_.store(false); }
    [[nodiscard]] bool woken() const noexcept { return woken_.load(std::memory_order_relaxed); }

    /// A handler threw a CriticalFailure: the run ends with it.
    void critical(std::exception_ptr e) noexcept {
        fail(std::move(e));
        stop(StopReason::cancelled);
        trip_all(StopReason::cancelled);
    }
    void fail(std::exception_ptr e) noexcept {
        std::lock_guard lock{mutex_};
        if (!error_) error_ = std::move(e);
    }
    [[nodiscard]] std::exception_ptr error() {
        std::lock_guard lock{mutex_};
        return error_;
    }
    /// Nothing in hand, every worker idle: settler and keeper may end.
    [[nodiscard]] bool try_close() {
        {
            std::lock_guard lock{mutex_};
            if (in_hand_ || idle_.size() != pool.size()) return false;
            closed_ = true;
        }
        settler->bell().ring();
        keeper->bell().ring();
        return true;
    }
    /// The hard stop: closed with rows in hand. `self` keeps the engine alive for the handlers that still
    /// run.
    void abandon(std::shared_ptr<void> self) {
        {
            std::lock_guard lock{mutex_};
            closed_ = abandoned_ = true;
            if (idle_.size() != pool.size()) self_ = std::move(self);
        }
        settler->bell().ring();
        keeper->bell().ring();
    }
    [[nodiscard]] bool closed() {
        std::lock_guard lock{mutex_};
        return closed_;
    }
    [[nodiscard]] bool abandoned() {
        std::lock_guard lock{mutex_};
        return abandoned_;
    }
    [[nodiscard]] Report report() {
        std::lock_guard lock{mutex_};
        auto r = report_;
        if (abandoned_) r.abandoned = in_hand_;
        r.errors = errors_.load();
        r.observer_errors = observer_errors_.load();
        r.timed_out = stop_reason() == StopReason::timeout;
        return r;
    }

    // ---- flights: claimer
    // ------------------------------------------------------------------------------------------
    [[nodiscard]] F* new_flight() {
        std::lock_guard lock{mutex_};
        if (free_.empty()) return &flights_.emplace_back();
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
    void publish(F* f) {
        std::unique_lock lock{mutex_};
        in_hand_ += f->size();
        f->in_use = true;
        f->open();
        ready_.push_back(f);
        if (!front_.load(std::memory_order_relaxed)) front_.store(f, std::memory_order_release);
        wake_one(lock);
    }
    /// Whether this very row is in hand already: its lease was lost in an outage, and it came back to us.
    [[nodiscard]] bool holds(key_t<S> const& key, F const* except) {
        std::lock_guard lock{mutex_};
        for (auto const& f : flights_) {
            if (!f.in_use || &f == except) continue;
            for (std::uint32_t i = 0; i < f.size(); ++i)
                if (!f.mark(i).settled.load(std::memory_order_relaxed) && f.ticket(i).key == key) return true;
        }
        return false;
    }
    /// How many more rows may be in hand, and how many a claim should ask for at most.
    struct Room {
        std::size_t rows, batch;
    };
    [[nodiscard]] Room room() {
        std::lock_guard lock{mutex_};
        auto const batch = parts.pace.batch                  ? parts.pace.batch
                           : !shared || window_ <= 2 * slots ? window_
                                                             : std::min<std::size_t>(1000, window_ / 2);
        return {window_ > in_hand_ ? window_ - in_hand_ : 0, shared ? batch : 1};
    }
    [[nodiscard]] bool work() {
        std::lock_guard lock{mutex_};
        return std::any_of(ready_.begin(), ready_.end(), [](F* f) { return f->untaken() > 0; });
    }
    [[nodiscard]] std::size_t in_hand() {
        std::lock_guard lock{mutex_};
        return in_hand_;
    }

    // ---- chunks: workers
    // ---------------------------------------------------------------------------------------------
    /// A chunk, or null. A pool worker that gets none is idle from here on, and must not write one more
    /// member: the engine may be gone by then. `farewell` receives the engine itself from the last one after
    /// a hard stop. `woken`: the worker comes from idleness, and so may not be the last one that is needed.
    [[nodiscard]] Chunk* take(std::uint32_t want, Lane* pooled, bool& woken, std::shared_ptr<void>& farewell) {
        if constexpr (!shared) want = 1;
        if (auto* f = front_.load(std::memory_order_acquire))
            if (auto* c = f->take(want)) return taken(c, std::exchange(woken, false));
        std::unique_lock lock{mutex_};
        while (!ready_.empty()) {
            auto* f = ready_.front();
            if (auto* c = f->take(want)) return lock.unlock(), taken(c, std::exchange(woken, false));
            ready_.pop_front();
            front_.store(ready_.empty() ? nullptr : ready_.front(), std::memory_order_release);
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
    void finished(Chunk* c) {
        c->next = mailbox_.load(std::memory_order_relaxed);
        while (!mailbox_.compare_exchange_weak(c->next, c, std::memory_order_release,
                                               std::memory_order_relaxed)) {}
        settler->bell().ring();
    }
    [[nodiscard]] Chunk* empty_mailbox() noexcept {
        return mailbox_.exchange(nullptr, std::memory_order_acquire);
    }

    /// What a chunk took: the base of the adaptive batch. `cheap` lets the claimer's own thread run chunks
    /// too.
    void measure(Duration took, std::uint32_t rows) noexcept {
        took_.fetch_add(took.count(), std::memory_order_relaxed);
        ran_.fetch_add(rows, std::memory_order_relaxed);
        using namespace std::chrono_literals;
        if (bool const c = took / rows < 20us; c != cheap_.load(std::memory_order_relaxed)) {
            cheap_.store(c, std::memory_order_relaxed);
            claimer->bell().ring();
        }
    }
    [[nodiscard]] bool cheap() const noexcept { return cheap_.load(std::memory_order_relaxed); }

    // ---- after the settle
    // ---------------------------------------------------------------------------------------------
    void settled(std::span<Chunk* const> chunks) {
        std::size_t n = 0;
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
                std::erase(ready_, &f);
                front_.store(ready_.empty() ? nullptr : ready_.front(), std::memory_order_release);
                free_.push_back(&f);
            }
            in_hand_ -= n;
            adapt();
        }
        parts.limiter.release(n);
        claimer->bell().ring();
    }

    // ---- rows that we put off: nothing rings when they come due
    // ----------------------------------------------------------
    void note_due(Duration delay) {
        {
            auto const due = later(parts.clock.now(), delay);
            std::lock_guard lock{mutex_};
            if (due_.size() == most_due) return;  // a hint: the interval finds the others
            due_.push_back(due);
            std::push_heap(due_.begin(), due_.end(), std::greater{});
        }
        claimer->bell().ring();
    }
    [[nodiscard]] TimePoint next_due() {
        std::lock_guard lock{mutex_};
        // A store's clock may be finer or coarser than ours: look just after the moment, not just before it.
        return due_.empty() ? TimePoint::max() : later(due_.front(), std::chrono::milliseconds{1});
    }
    void forget_due(TimePoint now) {
        std::lock_guard lock{mutex_};
        while (!due_.empty() && due_.front() < now) {
            std::pop_heap(due_.begin(), due_.end(), std::greater{});
            due_.pop_back();
        }
    }

    // ---- stop reasons: keeper, claimer
    // ---------------------------------------------------------------------------------
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
    /// Under the lock. Tokens are tripped by the caller after it has let go: their callbacks are users' code.
    static void trip(typename F::Mark& m, StopReason why, std::vector<std::stop_source>& tokens) {
        auto none = StopReason::none;
        if (m.stop.compare_exchange_strong(none, why) && m.source.stop_possible()) tokens.push_back(m.source);
    }
    static void request_stop(std::vector<std::stop_source>& tokens) noexcept {
        for (auto& t : tokens) {
            try {
                t.request_stop();
            } catch (...) {  // a callback that throws: the handler's own affair, and it has been told
            }
        }
    }
    void trip_all(StopReason why) noexcept {
        std::vector<std::stop_source> tokens;
        each_in_hand([&](F& f, std::uint32_t i) { trip(f.mark(i), why, tokens); });
        request_stop(tokens);
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
    void wake_one(std::unique_lock<std::mutex>& lock) {
        if (idle_.empty()) return;
        auto* w = idle_.back();
        idle_.pop_back();
        lock.unlock();
        try {
            parts.executor.execute(Task{*w});
        } catch (...) {  // not accepted: the worker is idle still, and the next batch posts it again
            lock.lock();
            idle_.push_back(w);
            lock.unlock();
            fault("execute", "the executor refused a task", true);
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
    /// Rows in hand that can start within 50 ms, and one; growing at most fourfold at a time. Under the lock,
    /// and only where the claimer's bell rings next, so that no look of it can find more than it was told of.
    void adapt() {
        auto const took = took_.exchange(0, std::memory_order_relaxed);
        auto const ran = ran_.exchange(0, std::memory_order_relaxed);
        if (!shared || parts.pace.batch || ran <= 0) return;
        constexpr double horizon = 50e6;
        auto const each = std::max(1.0, static_cast<double>(took) / static_cast<double>(ran));
        cost_ = cost_ > 0 ? cost_ + (each - cost_) / 4 : each;
        auto const startable = std::clamp(static_cast<double>(slots) * horizon / cost_, 1.0, 2000.0);
        window_ = std::min(slots + static_cast<std::size_t>(startable),
                           std::max<std::size_t>(4 * window_, slots + 1));
    }

    std::mutex mutex_;
    std::deque<F> flights_;
    std::vector<F*> free_;
    std::deque<F*> ready_;
    std::vector<Lane*> idle_;
    std::size_t in_hand_ = 0;
    std::size_t window_;
    double cost_ = 0;  ///< ns of handler a row, smoothed
    static constexpr std::size_t most_due = 1024;
    std::vector<TimePoint> due_;  ///< a heap, the next on top
    bool closed_ = false, abandoned_ = false;
    std::shared_ptr<void> self_;
    std::exception_ptr error_;
    Report report_;

    std::atomic<StopReason> stop_{StopReason::none};
    std::atomic<bool> woken_{false}, cheap_{false};
    std::atomic<std::size_t> errors_{0}, observer_errors_{0};
    std::atomic<Duration::rep> took_{0};
    std::atomic<std::int64_t> ran_{0};
    alignas(64) std::atomic<F*> front_{nullptr};
    alignas(64) std::atomic<Chunk*> mailbox_{nullptr};
};

}  // namespace fila::inline v1::detail
