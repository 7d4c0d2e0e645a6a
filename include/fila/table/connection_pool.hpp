// SPDX-License-Identifier: MIT
// ConnectionPool: a counted pool of connections, handed out as movable checkouts that no thread owns.
//
// Lanes: `shared` connections serve claims, transactions and what users call; one is kept for settles and one
// for extends and rescues, so that no handler and no slow claim can starve a lease. A driver with one writer
// (SQLite) has one connection for all. Waiters are served in the order they came. A lost connection is
// destroyed and a new one opened in its place at the next checkout.
//
// Thread safety: all members, from any thread. A checkout is used by one thread at a time and may be moved to
// another; it keeps the pool's state alive, so it may outlive the pool.
#pragma once

#include <fila/table/driver_concept.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace fila::inline v1::detail {

/// Sockets and file locks do not survive a fork: both processes would write on them.
[[nodiscard]] inline long process_id() noexcept {
#if __has_include(<unistd.h>)
    return static_cast<long>(::getpid());
#else
    return 0;
#endif
}

enum class ConnectionLane : unsigned char { shared, settle, keeper };

template <class Driver>
class ConnectionPool {
    using Connection = typename Driver::Connection;
    using Config = typename Driver::Config;

    struct Waiter {
        std::condition_variable served;
        std::unique_ptr<Connection> connection;
        bool may_open = false;
        [[nodiscard]] bool done() const { return may_open || connection; }
    };
    struct Lane {
        std::size_t capacity = 0;  ///< connections that may exist
        std::size_t out = 0;       ///< checked out, or being opened
        std::vector<std::unique_ptr<Connection>> idle;
        std::list<Waiter*> waiting;
    };
    struct State {
        explicit State(Config c) : config{std::move(c)} {}
        State(State const&) = delete;
        State& operator=(State const&) = delete;
        ~State() {
            if (process == process_id()) return;
            // A child of a fork: closing would speak on the parent's sockets, or drop its file locks.
            for (auto& lane : lanes)
                for (auto& connection : lane.idle) (void)connection.release();
        }
        Lane& lane(ConnectionLane l) { return lanes[Driver::one_writer ? 0 : static_cast<std::size_t>(l)]; }

        Config config;
        long process = process_id();
        std::mutex mutex;
        Lane lanes[3];
        std::atomic<std::uint64_t> opened{0};
    };

public:
    /// A connection in use. Destroyed: given back, or closed if it is lost.
    class Checkout {
    public:
        Checkout(std::shared_ptr<State> state, ConnectionLane lane, std::unique_ptr<Connection> connection)
            : state_{std::move(state)}, connection_{std::move(connection)}, lane_{lane} {}
        Checkout(Checkout&&) noexcept = default;
        Checkout& operator=(Checkout&& other) noexcept {
            if (this != &other) {
                give_back();
                state_ = std::move(other.state_);
                connection_ = std::move(other.connection_);
                lane_ = other.lane_;
            }
            return *this;
        }
        ~Checkout() { give_back(); }

        [[nodiscard]] Connection& operator*() const noexcept { return *connection_; }
        [[nodiscard]] Connection* operator->() const noexcept { return connection_.get(); }
        [[nodiscard]] explicit operator bool() const noexcept { return connection_ != nullptr; }
        /// Closes the connection instead of giving it back: its state is unknown.
        void discard() noexcept {
            if (connection_ && state_->process != process_id()) (void)connection_.release();
            connection_.reset();
            give_back();
        }

    private:
        friend ConnectionPool;
        void give_back() noexcept {
            if (!state_) return;
            auto const state = std::move(state_);
            if (state->process != process_id()) {
                (void)connection_.release();
                return;
            }
            if (connection_ && connection_->lost()) connection_.reset();
            ConnectionPool::release(*state, lane_, std::move(connection_));
        }

        std::shared_ptr<State> state_;
        std::unique_ptr<Connection> connection_;
        ConnectionLane lane_;
    };

    /// Opens the reserved connections (of one writer: the only one), so that a wrong address is known at once
    /// and no lease is lost over connecting. Throws what opening throws.
    explicit ConnectionPool(Config const& config) : state_{std::make_shared<State>(config)} {
        auto first = std::make_unique<Connection>(config);
        if constexpr (requires { Driver::reopening(state_->config); }) Driver::reopening(state_->config);
        state_->lanes[0].capacity = Driver::connections(config);
        if constexpr (Driver::one_writer) {
            state_->lanes[0].capacity = 1;
            state_->lanes[0].idle.push_back(std::move(first));
        } else {
            state_->lane(ConnectionLane::settle).capacity = state_->lane(ConnectionLane::keeper).capacity = 1;
            state_->lane(ConnectionLane::settle).idle.push_back(std::move(first));
            state_->lane(ConnectionLane::keeper).idle.push_back(std::make_unique<Connection>(config));
        }
    }

    [[nodiscard]] Config const& config() const noexcept { return state_->config; }
    /// How many connections were opened in the place of others, or when first needed. With a server's crash, which ends
    /// them all, it grows before anything is asked of the server again.
    [[nodiscard]] std::uint64_t opened() const noexcept { return state_->opened.load(); }
    /// How many transactions can be open at once.
    [[nodiscard]] std::size_t shared_connections() const noexcept { return state_->lanes[0].capacity; }

    /// Waits for its turn, at most the driver's patience; then throws a retryable Error.
    [[nodiscard]] Checkout acquire(ConnectionLane l) const {
        check_process();
        auto& lane = state_->lane(l);
        std::unique_lock lock{state_->mutex};
        if (lane.waiting.empty() && lane.out < lane.capacity) return take(lane, l, lock);
        Waiter waiter;
        auto const place = lane.waiting.insert(lane.waiting.end(), &waiter);
        auto const deadline = std::chrono::steady_clock::now() + Driver::patience(state_->config);
        if (!waiter.served.wait_until(lock, deadline, [&] { return waiter.done(); })) {
            lane.waiting.erase(place);
            throw Error{
                "fila: every connection of the store stayed in use; is a transaction open for long? A "
                "handler "
                "in a transaction must use the transaction's own handle, not the store",
                {.retryable = true}};
        }
        lock.unlock();
        return opened(l, std::move(waiter.connection));
    }
    /// Nothing, if none is free just now. May open a connection, but never waits for one in use.
    [[nodiscard]] std::optional<Checkout> try_acquire(ConnectionLane l) const {
        check_process();
        auto& lane = state_->lane(l);
        std::unique_lock lock{state_->mutex};
        if (!lane.waiting.empty() || lane.out >= lane.capacity) return std::nullopt;
        return take(lane, l, lock);
    }

private:
    void check_process() const {
        if (state_->process != process_id())
            throw Error{
                "fila: this store was opened before fork(); a child process must open a store of its own"};
    }
    Checkout take(Lane& lane, ConnectionLane l, std::unique_lock<std::mutex>& lock) const {
        ++lane.out;
        std::unique_ptr<Connection> connection;
        if (!lane.idle.empty()) {
            connection = std::move(lane.idle.back());
            lane.idle.pop_back();
        }
        lock.unlock();
        return opened(l, std::move(connection));
    }
    /// The place is ours already; connecting needs no lock.
    Checkout opened(ConnectionLane l, std::unique_ptr<Connection> connection) const {
        Checkout checkout{state_, l, std::move(connection)};
        if (!checkout) {
            checkout.connection_ = std::make_unique<Connection>(state_->config);
            ++state_->opened;
        }
        return checkout;
    }
    static void release(State& state, ConnectionLane l, std::unique_ptr<Connection> connection) noexcept {
        std::lock_guard lock{state.mutex};
        auto& lane = state.lane(l);
        if (!lane.waiting.empty()) {  // the place is handed over, with or without a connection
            auto* const next = lane.waiting.front();
            lane.waiting.pop_front();
            next->connection = std::move(connection);
            next->may_open = true;
            next->served.notify_one();
            return;
        }
        --lane.out;
        if (connection) lane.idle.push_back(std::move(connection));
    }

    std::shared_ptr<State> state_;
};

}  // namespace fila::inline v1::detail
