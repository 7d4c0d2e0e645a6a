// SPDX-License-Identifier: MIT
// ScriptedStore: a MemoryStore whose verbs fail when a test says so, and that remembers what it was asked.
#pragma once

#include <fila/clock/manual_clock.hpp>
#include <fila/store/memory_store.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>

namespace fila_tests {

enum class Verb { claim, settle, extend, rescue, counts, begin, mark, back, commit };
enum class When { before, after };  ///< the request never arrives, or the answer never comes back

inline fila::Error lost_request() { return fila::Error{"connection lost", {.retryable = true}}; }
inline fila::Error lost_answer() {
    return fila::Error{"answer lost", {.retryable = true, .maybe_applied = true}};
}
inline fila::Error refusal() { return fila::Error{"refused by the store", {}}; }

/// `delays` and `leases` say what it offers. A handle: copies are the same store. The transactions fail as
/// the store does.
template <class Row = int, bool delays = true>
class ScriptedStore {
    using Inner = fila::MemoryStore<Row, fila::ManualClock>;

public:
    class Transaction;
    using row_type = Row;
    using key_type = typename Inner::key_type;
    using cursor_type = typename Inner::cursor_type;
    using transaction_type = Transaction;
    using Request = fila::ClaimRequest<cursor_type>;
    using Rows = fila::Batch<Row, key_type>;
    using Settlements = std::span<fila::Settlement<Row, key_type> const>;
    using Tickets = std::span<fila::Ticket<key_type> const>;
    /// Called around each verb, from the engine's threads; what it throws, the verb throws.
    using Hook = std::function<void(Verb, When)>;

    template <class Ability>
    static constexpr bool offers = delays || !std::is_same_v<Ability, fila::ability::delay>;

    explicit ScriptedStore(fila::ManualClock clock, fila::MemoryOptions options = {.keep_finished = true})
        : s_{std::make_shared<State>(clock, options)} {}

    // ---- the script: all of it before a run, or from a hook -------------------------------------
    /// Fails the next `times` calls of a verb.
    void fail(Verb verb, When when, fila::Error const& error, unsigned times = 1) {
        std::lock_guard lock{s_->mutex};
        s_->faults.push_back(
            {verb, when, error.what(), {error.retryable(), error.maybe_applied(), error.code()}, times});
    }
    void heal() {
        std::lock_guard lock{s_->mutex};
        s_->faults.clear();
    }
    void hook(Hook h) {
        std::lock_guard lock{s_->mutex};
        s_->hook = std::make_shared<Hook>(std::move(h));
    }
    /// Rows that cannot be decoded.
    void break_rows(std::function<bool(Row const&)> broken) { s_->broken = std::move(broken); }
    /// Looks into each settle; what it throws, the settle throws, before it has changed anything.
    void inspect_settles(std::function<void(Settlements)> look) { s_->look = std::move(look); }

    // ---- what happened --------------------------------------------------------------------------
    [[nodiscard]] std::size_t calls(Verb v) const { return s_->calls[index(v)].load(); }
    [[nodiscard]] std::vector<std::size_t> claim_limits() const {
        std::lock_guard lock{s_->mutex};
        return s_->limits;
    }
    [[nodiscard]] Inner& table() { return s_->inner; }
    /// Its server crashes, and comes back without having heard of these claims.
    void forget(Tickets claims) {
        std::vector<fila::Settlement<Row, key_type>> undone;
        for (auto const& ticket : claims) undone.push_back({ticket, fila::release()});
        std::vector<fila::Ack> acks(undone.size());
        s_->inner.settle(undone, acks);
        ++s_->era;
    }

    // ---- the store ------------------------------------------------------------------------------
    fila::ClaimResult<cursor_type> claim(Request const& r, Rows& out) {
        return around(Verb::claim, [&] {
            note(r.limit);
            return s_->lend(s_->inner, r, out);
        });
    }
    void settle(Settlements s, std::span<fila::Ack> acks) {
        around(Verb::settle, [&] {
            if (s_->look) s_->look(s);
            s_->inner.settle(s, acks);
        });
    }
    void extend(Tickets t, fila::Duration lease, std::span<fila::Ack> acks) {
        around(Verb::extend, [&] { s_->inner.extend(t, lease, acks); });
    }
    fila::Rescued rescue(fila::RescueLimits const& limits) {
        return around(Verb::rescue, [&] { return s_->inner.rescue(limits); });
    }
    fila::Counts counts(std::size_t at_most) {
        return around(Verb::counts, [&] { return s_->inner.counts(at_most); });
    }
    std::vector<fila::DeadLetter<Row, key_type>> dead_letters(std::size_t n) {
        return s_->inner.dead_letters(n);
    }
    std::size_t redrive(std::span<key_type const> keys) { return s_->inner.redrive(keys); }
    std::size_t redrive_all() { return s_->inner.redrive_all(); }
    [[nodiscard]] auto subscribe(std::function<void()> wake) {
        s_->wake = wake;
        return s_->inner.subscribe(std::move(wake));
    }
    /// Of the run under way, once it is asleep.
    void wake_for_nothing() { s_->wake(); }
    std::optional<Transaction> begin() {
        return around(Verb::begin, [&]() -> std::optional<Transaction> {
            auto inner = s_->inner.begin();
            if (!inner) return std::nullopt;
            return Transaction{*this, std::move(*inner)};
        });
    }
    [[nodiscard]] std::size_t max_transactions() const { return s_->inner.max_transactions(); }

private:
    struct Fault {
        Verb verb;
        When when;
        // An Error for each throw: copies of one share their text, by a count that sanitizers cannot see.
        std::string what;
        fila::Error::Traits traits;
        unsigned times;
    };
    struct State {
        State(fila::ManualClock c, fila::MemoryOptions o) : inner{c, o} {}

        template <class Source>
        fila::ClaimResult<cursor_type> lend(Source& source, Request const& r, Rows& out) {
            Rows all;
            auto result = source.claim(r, broken ? all : out);
            result.era = era;
            for (std::size_t i = 0; i < all.rows().size(); ++i) {
                auto const& [key, fence] = all.tickets()[i];
                if (broken(all.rows()[i]))
                    out.add_broken(key, fence, all.histories()[i], "not a number");
                else
                    out.add(key, fence, all.histories()[i], std::move(all.rows()[i]));
            }
            return result;
        }

        Inner inner;
        mutable std::mutex mutex;
        std::vector<Fault> faults;
        std::shared_ptr<Hook> hook;
        std::vector<std::size_t> limits;
        std::array<std::atomic<std::size_t>, 9> calls{};
        std::atomic<std::uint64_t> era{0};
        std::function<bool(Row const&)> broken;
        std::function<void(Settlements)> look;
        std::function<void()> wake;
    };

    static std::size_t index(Verb v) { return static_cast<std::size_t>(v); }
    void note(std::size_t limit) {
        std::lock_guard lock{s_->mutex};
        s_->limits.push_back(limit);
    }
    void maybe_fail(Verb verb, When when) {
        std::shared_ptr<Hook> hook;
        {
            std::lock_guard lock{s_->mutex};
            auto const f = std::find_if(s_->faults.begin(), s_->faults.end(),
                                        [&](Fault const& x) { return x.verb == verb && x.when == when; });
            if (f != s_->faults.end()) {
                fila::Error const error{f->what, f->traits};
                if (--f->times == 0) s_->faults.erase(f);
                throw error;
            }
            hook = s_->hook;
        }
        if (hook) (*hook)(verb, when);
    }
    template <class Call>
    auto around(Verb verb, Call call) {
        ++s_->calls[index(verb)];
        maybe_fail(verb, When::before);
        if constexpr (std::is_void_v<decltype(call())>) {
            call();
            maybe_fail(verb, When::after);
        } else {
            auto result = call();
            maybe_fail(verb, When::after);
            return result;
        }
    }

    std::shared_ptr<State> s_;
};

template <class Row, bool delays>
class ScriptedStore<Row, delays>::Transaction {
public:
    using row_type = Row;
    using key_type = ScriptedStore::key_type;
    using cursor_type = ScriptedStore::cursor_type;

    Transaction(ScriptedStore store, typename Inner::Transaction inner)
        : store_{std::move(store)}, inner_{std::move(inner)} {}

    fila::ClaimResult<cursor_type> claim(Request const& r, Rows& out) {
        return store_.around(Verb::claim, [&] {
            store_.note(r.limit);
            return store_.s_->lend(inner_, r, out);
        });
    }
    void settle(Settlements s, std::span<fila::Ack> acks) {
        store_.around(Verb::settle, [&] {
            if (store_.s_->look) store_.s_->look(s);
            inner_.settle(s, acks);
        });
    }
    void mark() {
        store_.around(Verb::mark, [&] { inner_.mark(), marked_ = written_.size(); });
    }
    void back() {
        store_.around(Verb::back, [&] { inner_.back(), written_.resize(marked_); });
    }
    void commit() {
        store_.around(Verb::commit, [&] {
            inner_.commit();
            for (auto& w : written_) w();
        });
    }
    /// A write of the handler's: takes effect at the commit, or not at all.
    void write(std::function<void()> effect) { written_.push_back(std::move(effect)); }

private:
    ScriptedStore store_;
    typename Inner::Transaction inner_;
    std::vector<std::function<void()>> written_;
    std::size_t marked_ = 0;
};

static_assert(fila::LeasingStore<ScriptedStore<>> && fila::InspectableStore<ScriptedStore<>>);
static_assert(fila::NotifyingStore<ScriptedStore<>> && fila::TransactionalStore<ScriptedStore<>>);
static_assert(fila::SavepointTransaction<ScriptedStore<>::Transaction>);

}  // namespace fila_tests
