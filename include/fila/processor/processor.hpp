// SPDX-License-Identifier: MIT
// Processor: claims rows from a store, runs a handler on them in a bounded number of slots, and settles each.
//
//   fila::MemoryStore<Email> store;
//   fila::Processor p{store, fila::ThreadPool{4}, [](Email const& e) { send(e); }};
//   p.drain();            // what is there now: a cron job
//   p.run(stop_token);    // until stopped: a daemon
//
// After store, executor and handler come policies, in any order, each at most once:
//
// | role | policies (default first) | says |
// |---|---|---|
// | claim | Leased, InTransaction | how a row becomes ours |
// | limiter | Unlimited, FixedLimiter | how many rows are ours at once; two batches at most in any case |
// | retry | ExponentialBackoff, FixedDelay, NoRetry, NextPass | what becomes of a failed row |
// | observer | NullObserver, CountingObserver, LogObserver, ProgressObserver, … | hears of everything |
// | clock | SystemClock, ManualClock | time and waiting |
// | pace | Pace | intervals, batch size, stop time-outs |
// | time limit | TimeLimit | how long a handler may work on one row |
//
// Where a store cannot delay a row or count its failures, the default retry policy is NextPass.
#pragma once

#include <fila/claim/in_transaction.hpp>
#include <fila/claim/leased.hpp>
#include <fila/clock/system_clock.hpp>
#include <fila/detail/engine.hpp>
#include <fila/detail/policy_pick.hpp>
#include <fila/detail/thread_driver.hpp>
#include <fila/executor/inline_executor.hpp>
#include <fila/limiter/limiter_concept.hpp>
#include <fila/limiter/unlimited.hpp>
#include <fila/observer/null_observer.hpp>
#include <fila/retry/exponential_backoff.hpp>
#include <fila/retry/next_pass.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tuple>

namespace fila::inline v1 {

namespace detail {

struct ProcessorAccess;  // lets the simulation start an engine that it drives itself

template <class S>
using default_retry = std::conditional_t<fits_store_v<ExponentialBackoff, S>, ExponentialBackoff, NextPass>;

}  // namespace detail

/// An lvalue store or executor is referred to and must outlive the processor; an rvalue is owned. The handler
/// and the policies are owned.
///
/// Errors: the constructor throws ConfigError, which lists every fault of the configuration. `drain` throws
/// the store's Error once it has failed Pace::max_faults times in a row; `run` retries for ever, except while
/// it stops. Both throw on what a handler threw as CriticalFailure. What else handlers, observers and retry
/// policies throw never gets out. When either has returned or thrown, nothing is in hand any more (but see
/// Report::abandoned).
///
/// Thread safety: one drain or run at a time; `stop` from any thread, any number of times, also from a
/// handler.
template <class S, class E, class H, class... Policies>
class Processor {
    using StoreType = std::remove_reference_t<S>;
    using ExecutorType = std::remove_reference_t<E>;
    static_assert(detail::check_policies<Policies...>());
    static_assert(
        std::is_lvalue_reference_v<S> || std::move_constructible<S>,
        "fila store: this rvalue cannot be moved into the Processor: give the store a name, pass that, "
        "and it is referred to");
    static_assert(
        std::is_lvalue_reference_v<E> || std::move_constructible<E>,
        "fila executor: this rvalue cannot be moved into the Processor: give the executor a name, pass "
        "that, and it is referred to");
    using Strategy = detail::player_t<claim_role, Leased, Policies...>;
    using ClockType = detail::player_t<clock_role, SystemClock, Policies...>;
    using LimiterType = detail::player_t<limiter_role, Unlimited, Policies...>;
    using RetryType = detail::player_t<retry_role, detail::default_retry<StoreType>, Policies...>;
    using ObserverType = detail::player_t<observer_role, NullObserver, Policies...>;

    static_assert(Strategy::template check<StoreType>());
    static_assert(detail::check_executor<ExecutorType>());
    static_assert(detail::check_clock<ClockType>());
    static_assert(detail::check_limiter<LimiterType>());
    static_assert(detail::check_retry<RetryType>());
    static_assert(detail::check_policy_needs<StoreType, RetryType>());
    static_assert(detail::check_observer<ObserverType>());

    using Parts = detail::Parts<S, E, H, Strategy, ClockType, LimiterType, RetryType, ObserverType>;
    static_assert(detail::check_handler<H, typename Parts::row_type, typename Parts::context_type,
                                        typename Parts::batch_context_type>());
    using Engine = detail::Engine<Parts>;

public:
    /// Throws ConfigError.
    explicit Processor(S&& store, E&& executor, H handler, Policies... policies)
        : Processor{std::forward<S>(store), std::forward<E>(executor), std::move(handler),
                    std::tuple<Policies...>{std::move(policies)...}} {}

    /// Handles what is there now, and returns when each row that it met is settled. Stale rows of dead
    /// processes are rescued first. See DrainUntil for more than one pass.
    Report drain(DrainOptions const& options = {}) { return drain(std::stop_token{}, options); }
    /// The same, ended in order by `stop`: no more claims, rows not started are given back with nothing
    /// spent, handlers in flight go on (see Pace) and are settled.
    Report drain(std::stop_token stop, DrainOptions const& options = {}) {
        if constexpr (!InspectableStore<StoreType>)
            if (options.until == DrainUntil::nothing_open)
                throw ConfigError{
                    "fila: DrainUntil::nothing_open needs a store that can be inspected: counts(), "
                    "dead_letters(), redrive() (see InspectableStore)"};
        if (options.time_limit <= Duration::zero())
            throw ConfigError{
                "fila: wrong configuration:\n  DrainOptions::time_limit must be more than zero"};
        return conduct(detail::Mode::drain, std::move(stop), options);
    }
    /// Handles rows until `stop` is requested, or the supply is closed for good: looks again each
    /// Pace::interval, and at once when the store says that there is work.
    Report run(std::stop_token stop = {}) { return conduct(detail::Mode::run, std::move(stop), {}); }

    /// Ends the drain or run under way, in order, and any that is begun later: a stopped processor stays
    /// stopped, so that a stop that comes just before the start is not lost. Returns at once.
    void stop() noexcept { control_->stopped.request_stop(); }

    /// Whether the drain or run under way does its work. From any thread, at any time.
    [[nodiscard]] Health health() const {
        std::lock_guard lock{control_->mutex};
        return control_->engine ? control_->engine->ledger().health() : control_->last;
    }

    /// What the last drain or run did, also if it threw. Not while one is under way.
    [[nodiscard]] Report const& last_report() const noexcept { return report_; }

private:
    friend detail::ProcessorAccess;

    Processor(S&& store, E&& executor, H handler, std::tuple<Policies...> policies)
        : parts_{new Parts{
              std::forward<S>(store), std::forward<E>(executor), std::move(handler),
              detail::pick<claim_role, Strategy>(policies), detail::pick<clock_role, ClockType>(policies),
              detail::pick<limiter_role, LimiterType>(policies),
              detail::pick<retry_role, RetryType>(policies),
              detail::pick<observer_role, ObserverType>(policies), detail::pick<pace_role, Pace>(policies),
              detail::pick<time_limit_role, TimeLimit>(policies)}} {
        validate();
    }

    /// An engine, with everything that may ring it. Ends those first, in any case.
    class Session {
    public:
        Session(std::shared_ptr<Engine> engine, std::stop_token first, std::stop_token second)
            : engine_{std::move(engine)},
              on_first_{std::move(first), Ring{engine_.get()}},
              on_second_{std::move(second), Ring{engine_.get()}} {}
        [[nodiscard]] Engine& engine() noexcept { return *engine_; }

    private:
        struct Ring {
            Engine* engine;
            void operator()() const noexcept { engine->ledger().stop(StopReason::shutdown); }
        };
        std::shared_ptr<Engine> engine_;
        std::stop_callback<Ring> on_first_, on_second_;
    };
    [[nodiscard]] Session start(detail::Mode mode, std::stop_token stop, DrainOptions const& options) {
        return {Engine::make(parts_, mode, options), std::move(stop), control_->stopped.get_token()};
    }

    Report conduct(detail::Mode mode, std::stop_token stop, DrainOptions const& options) {
        struct Busy {
            std::atomic<bool>& busy;
            explicit Busy(std::atomic<bool>& b) : busy{b} {
                if (busy.exchange(true))
                    throw Error{"fila: this Processor is draining or running already: one at a time"};
            }
            ~Busy() { busy = false; }
        } const busy{control_->busy};
        auto session = start(mode, std::move(stop), options);
        auto& engine = session.engine();
        Watched const watched{*control_, engine};
        [[maybe_unused]] auto const subscription = subscribe(engine, mode, options);
        drive(engine);
        report_ = engine.ledger().report();
        if (auto const error = engine.ledger().error()) std::rethrow_exception(error);
        return report_;
    }
    /// What other threads use of a processor, where it stays when the processor is moved.
    struct Control {
        std::stop_source stopped;
        std::atomic<bool> busy{false};
        std::mutex mutex;  ///< guards what follows
        Engine* engine = nullptr;
        Health last{};
    };
    /// Lets health() see an engine while it works.
    class Watched {
    public:
        Watched(Control& control, Engine& engine) : control_{control} {
            std::lock_guard lock{control_.mutex};
            control_.engine = &engine;
        }
        Watched(Watched const&) = delete;
        Watched& operator=(Watched const&) = delete;
        ~Watched() {
            std::lock_guard lock{control_.mutex};
            control_.last = std::exchange(control_.engine, nullptr)->ledger().health();
            control_.last.running = false;
        }

    private:
        Control& control_;
    };
    /// Not for a single pass: it may cost a connection, and is over when it finds nothing.
    [[nodiscard]] auto subscribe(Engine& engine, detail::Mode mode, DrainOptions const& options) {
        if constexpr (NotifyingStore<StoreType>) {
            std::optional<decltype(parts_->store.subscribe(std::function<void()>{}))> subscription;
            if (mode == detail::Mode::run || options.until == DrainUntil::nothing_open ||
                ClosableStore<StoreType>)
                subscription.emplace(parts_->store.subscribe([&engine] { engine.ledger().wake(); }));
            return subscription;
        } else {
            return 0;
        }
    }

    void drive(Engine& engine) {
        auto& clock = parts_->clock;
        if constexpr (DrivingExecutor<ExecutorType>) {
            auto const lanes = engine.lanes();
            parts_->executor.drive(std::span<detail::Lane* const>{lanes});
        } else {
            // A lane's thread that was started must end, even if the next one cannot be.
            struct Joined {
                Engine& engine;
                std::thread thread;
                ~Joined() {
                    if (thread.joinable()) thread.join();
                }
            };
            auto const or_close = [&](auto make) {
                try {
                    return make();
                } catch (...) {
                    (void)engine.ledger().try_close();
                    throw;
                }
            };
            Joined keeper{engine, {}}, settler{engine, {}};
            bool const alone = parts_->executor.concurrency() == 0;
            if (engine.needs_keeper() && !(alone && !Strategy::shared))
                keeper.thread = or_close([&] { return detail::lane_thread(engine.keeper(), clock); });
            if (alone || !Strategy::shared) {  // where workers commit, the settler only keeps books
                engine.settler().share_bell(engine.claimer());
                detail::Lane* here[] = {&engine.claimer(), &engine.settler()};
                detail::run_lanes(here, clock);
            } else {
                settler.thread = or_close([&] { return detail::lane_thread(engine.settler(), clock); });
                detail::Lane* here[] = {&engine.claimer()};
                detail::run_lanes(here, clock);
            }
        }
    }

    void validate() {
        std::string faults;
        auto const check = [&](auto const& part) {
            if constexpr (requires { part.validate(); }) {
                try {
                    part.validate();
                } catch (ConfigError const& e) {
                    std::string_view what = e.what();
                    constexpr std::string_view head = "fila: wrong configuration:";
                    faults += what.starts_with(head) ? what.substr(head.size()) : "\n  " + std::string{what};
                }
            }
        };
        check(parts_->strategy), check(parts_->clock), check(parts_->limiter), check(parts_->retry);
        check(parts_->observer), check(parts_->pace), check(parts_->time_limit);
        if constexpr (!Strategy::shared && requires { parts_->store.max_transactions(); }) {
            std::size_t rows = std::max<std::size_t>(1, parts_->executor.concurrency());
            if constexpr (requires { parts_->limiter.capacity(); })
                rows = std::min(rows, parts_->limiter.capacity());
            if (auto const most = parts_->store.max_transactions(); rows > most)
                faults +=
                    "\n  InTransaction holds a connection of the store for each row in hand: the "
                    "executor's " +
                    std::to_string(rows) + " workers need as many, and the store has " +
                    std::to_string(most) +
                    "; give it more connections, or take fewer workers, or FixedLimiter{" +
                    std::to_string(most) + "}";
        }
        if (!faults.empty()) throw ConfigError{"fila: wrong configuration:" + faults};
    }

    std::shared_ptr<Parts> parts_;
    Report report_;
    std::unique_ptr<Control> control_ = std::make_unique<Control>();
};

template <class S, class E, class H, class... Policies>
Processor(S&&, E&&, H, Policies...) -> Processor<S, E, H, Policies...>;

namespace detail {

struct ProcessorAccess {
    template <class P>
    [[nodiscard]] static auto start(P& processor, Mode mode, std::stop_token stop = {},
                                    DrainOptions const& options = {}) {
        return processor.start(mode, std::move(stop), options);
    }
};

}  // namespace detail
}  // namespace fila::inline v1
