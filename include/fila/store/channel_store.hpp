// SPDX-License-Identifier: MIT
// ChannelStore: the items of a Channel as rows, with retries, dead letters and an end.
//
//   fila::Channel<Batch> batches{5};                       // bounded: producers wait while it is full
//   fila::ChannelStore store{batches};
//   std::jthread producer{[&] { for (auto& b : input) batches.push(std::move(b)); batches.close(); }};
//   fila::Processor p{store, fila::ThreadPool{3}, [](Batch const& b) { import(b); }};
//   p.drain();                                             // until the channel is closed and all is done
//
// When to use: work that is produced in this process, and may be lost with it. Alternatives: MemoryStore for
// rows with priorities, delays and leases; a database where rows must survive.
//
// The channel bounds what waits for its first attempt. What was taken out of it, the store keeps until it is
// settled: rows in hand, rows that wait for a retry, and dead letters unless `on_dead` takes them. A claim
// never waits. It takes what came back and is due first, then from the channel; a row that is given back
// comes before all fresh ones. There are no leases: nobody else can take the rows of a process that has died.
//
// A row is a copy of its item, as the last attempt left it. An item that can only be moved is lent instead:
// the row is a Lent<T>, which converts to T&.
//
// Thread safety: all members may be called from several threads at once. The channel must outlive the store.
#pragma once

#include <fila/channel/channel.hpp>
#include <fila/clock/system_clock.hpp>
#include <fila/store/lent.hpp>
#include <fila/store/memory_core.hpp>
#include <fila/store/wake_list.hpp>

#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace fila::inline v1 {

template <class T, Clock C = SystemClock>
class ChannelStore {
public:
    using row_type = std::conditional_t<std::copyable<T>, T, Lent<T>>;
    using key_type = std::int64_t;           ///< from 1, in the order of the channel
    static constexpr bool immediate = true;  ///< no verb waits
    /// Where a pass stands, and when it began: it takes only rows that were due then.
    struct cursor_type {
        std::optional<TimePoint> start;               ///< empty: the pass has not begun
        std::optional<detail::RowPosition> position;  ///< of the last row met
        friend bool operator==(cursor_type const&, cursor_type const&) = default;
    };
    using batch_type = Batch<row_type, key_type>;
    using settlement_type = Settlement<row_type, key_type>;
    using dead_letter_type = DeadLetter<row_type, key_type>;

    /// Keeps dead letters, to be looked at and redriven. The channel must outlive the store.
    explicit ChannelStore(Channel<T>& channel, C clock = {})
        : ChannelStore{channel, nullptr, std::move(clock)} {}
    /// `on_dead` takes each dead letter, which the store then forgets; called by the thread that settles,
    /// after the fact. What it throws leaves settle.
    ChannelStore(Channel<T>& channel, std::function<void(dead_letter_type)> on_dead, C clock = {})
        : state_{std::make_unique<State>(channel, std::move(on_dead), std::move(clock))} {}

    // ---- Store ----------------------------------------------------------------------------------

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, batch_type& out) {
        std::lock_guard lock{state_->mutex};
        ClaimResult<cursor_type> result{request.after};
        auto& [start, position] = result.cursor;
        if (!start) start = state_->clock.now();
        auto const take = [&](std::size_t limit) {
            return state_->rows.take(position, *start, limit, out, Rows::Hold::lease, TimePoint::max());
        };
        auto taken = take(request.limit);
        if (taken < request.limit) {
            // Due since the pass began, with the largest keys so far: they are the last of the pass.
            state_->rows.add(state_->pop(request.limit - taken), 0, *start);
            taken += take(request.limit - taken);
        }
        if (taken < request.limit) result.supply = state_->ended() ? Supply::closed : Supply::dry;
        return result;
    }

    void settle(std::span<settlement_type const> settlements, std::span<Ack> acks) {
        std::vector<dead_letter_type> dead;
        bool now_closed = false;
        {
            std::lock_guard lock{state_->mutex};
            auto const now = state_->clock.now();
            for (std::size_t i = 0; i < settlements.size(); ++i) {
                auto const& [ticket, outcome, row] = settlements[i];
                acks[i] = state_->rows.settle(ticket, outcome, row, now) ? Ack::applied : Ack::lost;
                if (acks[i] == Ack::lost) continue;
                if (state_->on_dead && outcome.kind() == Outcome::Kind::dead_letter)
                    dead.push_back(state_->rows.exhume(ticket.key));
            }
            now_closed = state_->ended();
        }
        if (now_closed) state_->wakes->wake_all();
        for (auto& letter : dead) state_->on_dead(std::move(letter));
    }

    // ---- ClosableStore, NotifyingStore ----------------------------------------------------------

    /// The channel is closed and empty, and no row is in hand or waits for a retry. (A redrive reopens the
    /// store.)
    [[nodiscard]] bool closed() const {
        std::lock_guard lock{state_->mutex};
        return state_->ended();
    }
    /// `wake` is called after each push into an empty channel, when the end has come, and after a redrive. It
    /// must not call this store.
    [[nodiscard]] auto subscribe(std::function<void()> wake) {
        struct Subscription {
            detail::WakeSubscription pushes, others;
        };
        auto pushes = state_->channel->on_push(wake);
        return Subscription{std::move(pushes), {state_->wakes, std::move(wake)}};
    }

    // ---- InspectableStore -----------------------------------------------------------------------

    [[nodiscard]] Counts counts(std::size_t at_most) {
        std::lock_guard lock{state_->mutex};
        auto counts = state_->rows.counts(at_most);
        counts.pending =
            std::min(at_most, state_->rows.counts(std::numeric_limits<std::size_t>::max()).pending +
                                  state_->channel->size());
        return counts;
    }
    [[nodiscard]] std::vector<dead_letter_type> dead_letters(std::size_t at_most) {
        std::lock_guard lock{state_->mutex};
        return state_->rows.dead_letters(at_most);
    }
    std::size_t redrive(std::span<key_type const> keys) {
        std::size_t redriven = 0;
        {
            std::lock_guard lock{state_->mutex};
            for (auto key : keys) redriven += state_->rows.redrive(key) ? 1 : 0;
        }
        if (redriven > 0) state_->wakes->wake_all();
        return redriven;
    }
    std::size_t redrive_all() {
        std::vector<key_type> keys;
        {
            std::lock_guard lock{state_->mutex};
            keys = state_->rows.dead_keys();
        }
        return redrive(keys);
    }

    // ---- for tests ------------------------------------------------------------------------------

    /// A row as it stands; nothing if it is still in the channel, or finished.
    [[nodiscard]] std::optional<MemoryRow<row_type>> find(key_type key) {
        std::lock_guard lock{state_->mutex};
        return state_->rows.find(key);
    }
    /// Makes a row that waits for a retry due now.
    bool make_due(key_type key) {
        std::lock_guard lock{state_->mutex};
        return state_->rows.make_due(key, state_->clock.now());
    }

private:
    using Rows = detail::MemoryCore<row_type>;

    struct State {
        State(Channel<T>& ch, std::function<void(dead_letter_type)> f, C c)
            : channel{&ch}, on_dead{std::move(f)}, clock{std::move(c)} {}

        std::span<row_type> pop(std::size_t limit) {
            popped.clear();
            if constexpr (std::same_as<row_type, T>) {
                channel->try_pop_batch(popped, limit);
            } else {
                std::vector<T> items;
                channel->try_pop_batch(items, limit);
                for (auto& item : items) popped.emplace_back(std::move(item));
            }
            return popped;
        }
        /// Asked in this order: after the close the channel only gets emptier.
        [[nodiscard]] bool ended() const {
            return rows.counts(1).open() == 0 && channel->closed() && channel->size() == 0;
        }

        std::mutex mutex;
        Channel<T>* channel;
        std::function<void(dead_letter_type)> on_dead;
        C clock;
        Rows rows{false};
        std::vector<row_type> popped;  // kept for its memory
        std::shared_ptr<detail::WakeList> const wakes = std::make_shared<detail::WakeList>();
    };

    std::unique_ptr<State> state_;  // so that a store can be moved
};

}  // namespace fila::inline v1
