// SPDX-License-Identifier: MIT
// FailureStream: failures as a range, to be read by a thread of yours.
#pragma once

#include <fila/channel/channel.hpp>
#include <fila/observer/observer_concept.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace fila::inline v1 {

/// Puts a copy of each Failure into a bounded channel. It never makes the engine wait: while the channel is
/// full, failures are counted as dropped. A handle: copies share the channel. The stream does not end with a
/// run, since a processor may run again: `close` ends it. Alternatives: any callable that takes `RowFailed
/// const&`, called by the engine's threads. Thread safety: everything, from several threads at once.
///
///   fila::FailureStream failures{1000};
///   fila::Processor p{store, pool, handler, failures};
///   std::jthread reader{[&] { for (auto& f : failures.channel()) report(f.key, f.what); }};
class FailureStream {
public:
    using policy_role = observer_role;

    /// Throws ConfigError if `capacity` is 0.
    explicit FailureStream(std::size_t capacity) : state_{std::make_shared<State>(capacity)} {}

    void operator()(RowFailed const& e) const {
        if (!state_->channel.try_push(e.failure)) state_->dropped.fetch_add(1, std::memory_order_relaxed);
    }

    /// Where the failures come out. It lives as long as a copy of the stream.
    [[nodiscard]] Channel<Failure>& channel() const noexcept { return state_->channel; }
    /// Failures that nobody will read: they came while the channel was full, or closed.
    [[nodiscard]] std::size_t dropped() const noexcept {
        return state_->dropped.load(std::memory_order_relaxed);
    }
    /// Lets readers end when they have read the rest; later failures are dropped.
    void close() const { state_->channel.close(); }

private:
    struct State {
        explicit State(std::size_t capacity) : channel{capacity} {}
        Channel<Failure> channel;
        std::atomic<std::size_t> dropped{0};
    };
    std::shared_ptr<State> state_;
};
static_assert(Observer<FailureStream>);

}  // namespace fila::inline v1
