// SPDX-License-Identifier: MIT
// Channel: a bounded queue between threads, which can be closed and read as a range.
#pragma once

#include <fila/channel/detail/ring_buffer.hpp>
#include <fila/detail/linger.hpp>
#include <fila/store/wake_list.hpp>
#include <fila/types/error.hpp>

#include <atomic>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// Any number of threads push, any number pop; each item goes to one of them, in order. A full channel makes
/// producers wait, so that memory stays bounded; every wait ends with `close`, and the overloads that take a
/// stop token end with a stop too. After `close` nothing comes in, and what was accepted is still handed out.
/// Nothing is allocated after construction. For items that must survive the process, use a store.
/// Thread safety: everything, from several threads at once, but nobody may be inside when it is destroyed.
///
///   fila::Channel<Job> jobs{64};
///   std::jthread producer{[&] { for (auto& job : input) jobs.push(std::move(job)); jobs.close(); }};
///   for (Job& job : jobs) work(job);
template <class T>
    requires std::is_object_v<T> && std::move_constructible<T>
class Channel {
public:
    using value_type = T;
    class iterator;

    /// Throws ConfigError if `capacity` is 0, or more than any memory has.
    explicit Channel(std::size_t capacity) : items_{checked(capacity)} {}
    Channel(Channel const&) = delete;
    Channel& operator=(Channel const&) = delete;

    // ---- putting in -----------------------------------------------------------------------------

    /// Waits for room. False, and `value` untouched, if the channel is closed.
    template <class U = T>
        requires std::constructible_from<T, U>
    bool push(U&& value) {
        return push(std::forward<U>(value), std::stop_token{});
    }
    /// As above, and false too if a stop was requested before there was room.
    template <class U = T>
        requires std::constructible_from<T, U>
    bool push(U&& value, std::stop_token const& stop) {
        std::unique_lock lock{mutex_};
        wait(
            lock, space_, stop, [this] { return closed_ || !items_.full(); },
            [this] { return seen_.load(std::memory_order_relaxed) < items_.capacity(); });
        return put(lock, std::forward<U>(value));
    }
    /// Never waits. False, and `value` untouched, if the channel is full or closed.
    template <class U = T>
        requires std::constructible_from<T, U>
    bool try_push(U&& value) {
        std::unique_lock lock{mutex_};
        return put(lock, std::forward<U>(value));
    }

    // ---- taking out -----------------------------------------------------------------------------

    /// Waits for an item. Empty when the channel is closed and nothing is left.
    std::optional<T> pop() { return pop(std::stop_token{}); }
    /// As above, and empty too if a stop was requested before there was an item.
    std::optional<T> pop(std::stop_token const& stop) {
        std::unique_lock lock{mutex_};
        wait_for_item(lock, stop);
        return take(lock);
    }
    /// Never waits.
    std::optional<T> try_pop() {
        std::unique_lock lock{mutex_};
        return take(lock);
    }

    /// Waits for at least one item, appends up to `max` to `out`, and says how many. 0 only when the channel
    /// is closed and nothing is left. If appending throws, what was not appended stays in the channel.
    std::size_t pop_batch(std::vector<T>& out, std::size_t max) {
        return pop_batch(out, max, std::stop_token{});
    }
    /// As above, and 0 too if a stop was requested before there was an item.
    std::size_t pop_batch(std::vector<T>& out, std::size_t max, std::stop_token const& stop) {
        std::unique_lock lock{mutex_};
        if (max != 0) wait_for_item(lock, stop);
        return take_batch(lock, out, max);
    }
    /// Never waits.
    std::size_t try_pop_batch(std::vector<T>& out, std::size_t max) {
        std::unique_lock lock{mutex_};
        return take_batch(lock, out, max);
    }

    // ---- the whole ------------------------------------------------------------------------------

    /// Ends every wait. Nothing comes in any more; may be called again.
    void close() {
        {
            std::lock_guard lock{mutex_};
            closed_ = true;
        }
        space_.cv.notify_all();
        ready_.cv.notify_all();
        wake_subscribers();
    }
    /// Whether `close` was called; there may still be items.
    [[nodiscard]] bool closed() const {
        std::lock_guard lock{mutex_};
        return closed_;
    }
    /// Items inside just now; other threads may have changed it by the time that it is read.
    [[nodiscard]] std::size_t size() const {
        std::lock_guard lock{mutex_};
        return items_.size();
    }
    /// The most that can be inside: what the constructor was given.
    [[nodiscard]] std::size_t capacity() const noexcept { return items_.capacity(); }

    /// An input range that takes the items out and ends when the channel is closed and empty. `begin` waits
    /// for the first item. Several threads may each have a range of their own: each item goes to one of them.
    [[nodiscard]] iterator begin() { return iterator{*this}; }
    /// Reached when the channel is closed and nothing is left.
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    /// `callback` is called after each push into an empty channel, and at `close`, by the thread that did it, until
    /// what is returned is destroyed; then it is not running either. So whoever is told takes until nothing is left.
    /// It must be quick, and neither subscribe nor unsubscribe. What it throws is swallowed: the item is in, and the
    /// producer has done nothing wrong.
    [[nodiscard]] detail::WakeSubscription on_push(std::function<void()> callback) {
        detail::WakeSubscription subscription{subscribers_, [callback = std::move(callback)] {
                                                  try {
                                                      callback();
                                                  } catch (...) {}
                                              }};
        subscribed_ = true;
        return subscription;
    }

private:
    static std::size_t checked(std::size_t capacity) {
        if (capacity == 0)
            throw ConfigError{"fila: wrong configuration:\n  Channel::capacity must be at least 1"};
        if (capacity > std::numeric_limits<std::size_t>::max() / 4 / sizeof(T))
            throw ConfigError{
                "fila: wrong configuration:\n  Channel::capacity is more than any memory has (a negative "
                "number?)"};
        return capacity;
    }

    /// Those who wait for room and those who wait for items, apart: one notice never reaches the wrong kind.
    struct Waiters {
        std::condition_variable_any cv;
        detail::Linger linger;
        std::size_t number = 0;
    };
    /// Looks at `ready` last: a waiter that is stopped while there is something for it takes it, and so never
    /// leaves with a notice that was meant to move an item.
    /// `soon` is asked without the lock, as a hint.
    template <class Ready, class Soon>
    void wait(std::unique_lock<std::mutex>& lock, Waiters& waiters, std::stop_token const& stop, Ready ready,
              Soon soon) {
        if (ready()) return;
        lock.unlock();
        waiters.linger.until(soon);
        lock.lock();
        if (ready()) return;
        ++waiters.number;
        waiters.cv.wait(lock, stop, ready);
        --waiters.number;
    }
    void wait_for_item(std::unique_lock<std::mutex>& lock, std::stop_token const& stop) {
        wait(
            lock, ready_, stop, [this] { return closed_ || !items_.empty(); },
            [this] { return seen_.load(std::memory_order_relaxed) > 0; });
    }

    template <class U>
    bool put(std::unique_lock<std::mutex>& lock, U&& value) {
        if (closed_ || items_.full()) return false;
        bool const was_empty = items_.empty();
        items_.emplace_back(std::forward<U>(value));
        release(lock, ready_, 1);
        if (was_empty) wake_subscribers();
        return true;
    }
    std::optional<T> take(std::unique_lock<std::mutex>& lock) {
        if (items_.empty()) return std::nullopt;
        std::optional<T> item{std::move(items_.front())};
        items_.drop_front();
        release(lock, space_, 1);
        return item;
    }
    std::size_t take_batch(std::unique_lock<std::mutex>& lock, std::vector<T>& out, std::size_t max) {
        std::size_t n = 0;
        // Room for producers is announced even if `out` cannot grow.
        struct Announce {
            Channel& c;
            std::unique_lock<std::mutex>& lock;
            std::size_t& n;
            ~Announce() { c.release(lock, c.space_, n); }
        } const announce{*this, lock, n};
        for (; n < max && !items_.empty(); ++n) {
            out.push_back(std::move(items_.front()));
            items_.drop_front();
        }
        return n;
    }
    /// Unlocks, and notifies as many as there is something for.
    void release(std::unique_lock<std::mutex>& lock, Waiters& waiters, std::size_t n) noexcept {
        auto const waiting = waiters.number;
        seen_.store(items_.size(), std::memory_order_relaxed);
        lock.unlock();
        if (n == 0 || waiting == 0) return;
        if (n == 1)
            waiters.cv.notify_one();
        else
            waiters.cv.notify_all();
    }
    void wake_subscribers() {
        if (subscribed_) subscribers_->wake_all();
    }

    mutable std::mutex mutex_;
    Waiters space_, ready_;
    std::atomic<std::size_t> seen_{0};  ///< the size, for those who look without the lock
    detail::RingBuffer<T> items_;
    bool closed_ = false;
    std::atomic<bool> subscribed_{false};
    std::shared_ptr<detail::WakeList> const subscribers_ = std::make_shared<detail::WakeList>();
};

/// Copies share the place, as copies of an input iterator may. The item lies beside the iterator, since range
/// libraries want iterators that can be copied even if the items cannot.
template <class T>
    requires std::is_object_v<T> && std::move_constructible<T>
class Channel<T>::iterator {
public:
    using iterator_concept = std::input_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using pointer = T*;

    iterator() = default;
    /// Waits for the first item.
    explicit iterator(Channel& channel) : place_{std::make_shared<Place>(channel)} {}

    [[nodiscard]] T& operator*() const noexcept { return *place_->item; }
    [[nodiscard]] T* operator->() const noexcept { return &*place_->item; }
    iterator& operator++() {
        place_->next();
        return *this;
    }
    void operator++(int) { ++*this; }
    [[nodiscard]] friend bool operator==(iterator const& i, std::default_sentinel_t) noexcept {
        return i.ended();
    }

private:
    struct Place {
        explicit Place(Channel& c) : channel{c} { next(); }
        void next() {
            item.reset();
            if (auto popped = channel.pop()) item.emplace(*std::move(popped));
        }
        Channel& channel;
        std::optional<T> item;
    };
    [[nodiscard]] bool ended() const noexcept { return !place_ || !place_->item; }

    std::shared_ptr<Place> place_;
};

}  // namespace fila::inline v1
