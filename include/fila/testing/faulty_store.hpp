// SPDX-License-Identifier: MIT
// FaultyStore: a store with one fault planted in it, to see whether the tests have teeth.
//
//   fila::testing::FaultyStore store{fila::testing::Fault::checks_no_fence, fila::MemoryStore<int>{}};
//
// It models whatever refinements the store inside models. The faults are made from outside, by changing what
// goes in and what comes out, so any correct store will do; and the kit's own test holds each fault against
// the rules that must find it. Thread safety: that of the store inside; its own notes are under a mutex.
#pragma once

#include <fila/testing/faulty_transaction.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

template <Store S>
    requires std::totally_ordered<key_t<S>> && std::copyable<row_t<S>>
class FaultyStore {
    template <class T>
    struct TransactionOf {
        using type = void;
    };
    template <TransactionalStore T>
    struct TransactionOf<T> {
        using type = FaultyTransaction<typename T::transaction_type>;
    };

public:
    using row_type = row_t<S>;
    using key_type = key_t<S>;
    using cursor_type = cursor_t<S>;
    using transaction_type = typename TransactionOf<S>::type;

    /// With `Fault::none` it is `inner`.
    FaultyStore(Fault fault, S inner) : fault_{fault}, inner_{std::move(inner)} {}
    /// The store that is right.
    [[nodiscard]] S& inner() noexcept { return inner_; }

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, batch_t<S>& out) {
        std::lock_guard lock{mutex_};
        auto asked = request;
        if (is(Fault::claims_too_many)) ++asked.limit;
        if (is(Fault::ignores_cursor)) asked.after = {};
        if (is(Fault::never_begins_anew) && asked.after == cursor_type{}) asked.after = last_cursor_;
        if (is(Fault::rescues_live_rows)) asked.lease = {};
        if (is(Fault::claims_two_at_most)) asked.limit = std::min<std::size_t>(asked.limit, 2);
        batch_t<S> found;
        auto result = inner_.claim(asked, found);
        if (is(Fault::throws_at_broken_row) && !found.broken().empty())
            throw Error{"a row cannot be decoded"};
        if (is(Fault::skips_a_row) && found.size() == asked.limit)
            result.cursor = skip_one(result.cursor, asked.lease);
        last_cursor_ = result.cursor;
        if (is(Fault::mixes_up_rows)) std::ranges::reverse(found.rows());
        if (is(Fault::dry_too_early) || is(Fault::claims_two_at_most)) result.supply = Supply::dry;
        if (is(Fault::never_dry)) result.supply = Supply::more;

        if (is(Fault::claims_rows_in_hand) && in_hand_ && found.size() < asked.limit &&
            asked.after == cursor_type{})
            out.add(in_hand_->ticket.key, in_hand_->ticket.fence, {}, in_hand_->row);
        for (std::size_t i = 0; i < found.rows().size(); ++i) {
            auto const at = is(Fault::loses_order) ? found.rows().size() - 1 - i : i;
            hand_out(found.tickets()[at], found.histories()[at], std::move(found.rows()[at]), out);
        }
        for (auto const& b : found.broken()) {
            notes_[b.ticket.key].fence = b.ticket.fence;
            out.add_broken(b.ticket.key, b.ticket.fence, b.history, b.why);
        }
        return result;
    }

    void settle(std::span<settlement_t<S> const> settlements, std::span<Ack> acks) {
        std::lock_guard lock{mutex_};
        if (is(Fault::throws_at_nothing_to_settle) && settlements.empty()) throw Error{"nothing to settle"};
        std::vector<settlement_t<S>> changed;
        for (auto const& s : settlements)
            changed.push_back({inbound(s.ticket, Fault::checks_no_fence), changed_outcome(s.outcome), s.row});
        inner_.settle(changed, acks);
        for (std::size_t i = 0; i < settlements.size(); ++i) note_settled(settlements[i], acks[i]);
        if (is(Fault::one_ack_for_all) && !acks.empty()) std::ranges::fill(acks, acks.front());
    }

    void extend(std::span<ticket_t<S> const> tickets, Duration lease, std::span<Ack> acks)
        requires LeasingStore<S>
    {
        std::lock_guard lock{mutex_};
        if (is(Fault::extends_nothing)) {
            std::ranges::fill(acks, Ack::applied);
            return;
        }
        std::vector<ticket_t<S>> changed;
        for (auto const& t : tickets) changed.push_back(inbound(t, Fault::extends_for_anybody));
        inner_.extend(changed, lease, acks);
        if (is(Fault::extends_never)) std::ranges::fill(acks, Ack::lost);
    }
    Rescued rescue(RescueLimits limits)
        requires LeasingStore<S>
    {
        if (is(Fault::rescues_nobody)) return {};
        if (is(Fault::rescues_without_cap)) limits.max_crashes = ~std::uint32_t{0};
        if (is(Fault::rescues_without_bound)) limits.max_rows = ~std::size_t{0};
        return inner_.rescue(limits);
    }

    [[nodiscard]] std::optional<transaction_type> begin()
        requires TransactionalStore<S>
    {
        auto inner = inner_.begin();
        if (!inner) return std::nullopt;
        return transaction_type{std::move(*inner), fault_, [this] { return inner_.begin(); }};
    }
    [[nodiscard]] std::size_t max_transactions() const
        requires requires(S const& s) { s.max_transactions(); }
    {
        return inner_.max_transactions() + (is(Fault::promises_too_many_transactions) ? 1 : 0);
    }

    /// As ClosableStore asks.
    [[nodiscard]] bool closed() const
        requires ClosableStore<S>
    {
        return inner_.closed();
    }
    [[nodiscard]] auto subscribe(std::function<void()> wake)
        requires NotifyingStore<S>
    {
        if (is(Fault::wakes_nobody)) wake = [] {};
        return inner_.subscribe(std::move(wake));
    }
    std::size_t enqueue(std::span<row_type const> rows, EnqueueOptions options)
        requires EnqueuingStore<S>
    {
        if (is(Fault::forgets_delay_of_put)) options.delay = {};
        if (is(Fault::ignores_priority)) options.priority = 0;
        return inner_.enqueue(rows, options);
    }

    [[nodiscard]] Counts counts(std::size_t at_most)
        requires InspectableStore<S>
    {
        if (is(Fault::counts_nothing)) return {};
        return inner_.counts(is(Fault::counts_without_bound) ? ~std::size_t{0} : at_most);
    }
    [[nodiscard]] std::vector<dead_letter_t<S>> dead_letters(std::size_t at_most)
        requires InspectableStore<S>
    {
        auto letters = inner_.dead_letters(is(Fault::counts_without_bound) ? ~std::size_t{0} : at_most);
        if (is(Fault::loses_the_reason))
            for (auto& letter : letters) letter.error.clear();
        return letters;
    }
    std::size_t redrive(std::span<key_type const> keys)
        requires InspectableStore<S>
    {
        look_at_the_dead();
        if (is(Fault::redrives_nobody)) return 0;
        return is(Fault::redrives_all) ? inner_.redrive_all() : inner_.redrive(keys);
    }
    std::size_t redrive_all()
        requires InspectableStore<S>
    {
        look_at_the_dead();
        if (is(Fault::redrives_nobody)) return 0;
        return inner_.redrive_all();
    }

private:
    struct Note {
        std::int64_t fence = 0;       ///< of the last claim, as the store inside has it
        std::int64_t given_back = 0;  ///< what the fence shown is behind it
        std::int64_t settled = 0;     ///< the fence of the last settle that was applied
        std::uint32_t crashes = 0;    ///< at the last claim
        History extra{};              ///< what the counters shown are ahead
    };
    struct InHand {
        ticket_t<S> ticket;
        row_type row;
    };

    [[nodiscard]] bool is(Fault f) const noexcept { return fault_ == f; }

    void hand_out(ticket_t<S> const& ticket, History history, row_type row, batch_t<S>& out) {
        auto& note = notes_[ticket.key];
        note.fence = ticket.fence;
        if (is(Fault::gives_fence_back_on_rescue) && history.crashes > note.crashes) ++note.given_back;
        note.crashes = history.crashes;
        history.failures += note.extra.failures;
        if (is(Fault::rescue_counts_a_failure)) history.failures += history.crashes;
        history.crashes += note.extra.crashes;
        if (is(Fault::rescue_counts_nothing)) history.crashes = 0;
        if (is(Fault::claims_rows_in_hand)) in_hand_ = InHand{ticket, row};
        out.add(ticket.key, ticket.fence - note.given_back, history, std::move(row));
    }
    /// The ticket as the store inside wants it; whoever holds it, if the fault is the one that does not care.
    ticket_t<S> inbound(ticket_t<S> ticket, Fault careless) {
        auto const& note = notes_[ticket.key];
        ticket.fence = is(careless) ? note.fence : ticket.fence + note.given_back;
        return ticket;
    }
    [[nodiscard]] Outcome changed_outcome(Outcome const& o) const {
        auto const kind = o.kind();
        if (is(Fault::retry_counts_nothing) && kind == Outcome::Kind::retry) return snooze(o.delay());
        if (is(Fault::snooze_counts_a_failure) && kind == Outcome::Kind::snooze) return retry(o.delay());
        if (is(Fault::completed_rows_come_back) && kind == Outcome::Kind::complete) return release();
        if (is(Fault::discarded_rows_come_back) && kind == Outcome::Kind::discard) return release();
        if (is(Fault::forgets_delay_of_snooze) && kind == Outcome::Kind::snooze)
            return snooze(Duration::zero());
        if (is(Fault::dead_letters_vanish) && kind == Outcome::Kind::dead_letter) return complete();
        if (is(Fault::forgets_delay_of_retry) && kind == Outcome::Kind::retry)
            return retry(Duration::zero(), std::string{o.text()});
        return o;
    }
    void note_settled(settlement_t<S> const& s, Ack& ack) {
        auto& note = notes_[s.ticket.key];
        bool const again = note.settled == s.ticket.fence && note.settled != 0;
        if (is(Fault::settles_twice) && again) ack = Ack::applied;
        if (ack != Ack::applied) return;
        note.settled = s.ticket.fence;
        if (in_hand_ && in_hand_->ticket.key == s.ticket.key) in_hand_.reset();
        auto const kind = s.outcome.kind();
        bool const waits = kind == Outcome::Kind::retry || kind == Outcome::Kind::snooze;
        if (is(Fault::gives_fence_back_on_retry) && waits) ++note.given_back;
        if (is(Fault::gives_fence_back) && kind == Outcome::Kind::release) ++note.given_back;
        if (is(Fault::release_counts_a_failure) && kind == Outcome::Kind::release) ++note.extra.failures;
    }
    cursor_type skip_one(cursor_type const& after, Duration lease) {
        batch_t<S> skipped;
        auto const result = inner_.claim({1, after, lease}, skipped);
        for (auto const& ticket : skipped.tickets()) {
            settlement_t<S> const back{ticket, release(), nullptr};
            Ack ack{};
            inner_.settle({&back, 1}, {&ack, 1});
        }
        return result.cursor;
    }
    void look_at_the_dead() {
        if constexpr (InspectableStore<S>) {
            for (auto const& letter : inner_.dead_letters(~std::size_t{0})) {
                if (is(Fault::redrive_keeps_counters)) notes_[letter.key].extra = letter.history;
                if (is(Fault::gives_fence_back_on_redrive)) ++notes_[letter.key].given_back;
            }
        }
    }

    Fault fault_;
    S inner_;
    std::mutex mutex_;
    std::map<key_type, Note> notes_;
    std::optional<InHand> in_hand_;
    cursor_type last_cursor_{};
};

}  // namespace fila::inline v1::testing
