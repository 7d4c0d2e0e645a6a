// SPDX-License-Identifier: MIT
// WakeList: who wants to be told that there may be work. For stores in memory that model NotifyingStore.
#pragma once

#include <fila/detail/list.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace fila::inline v1::detail {

class WakeList {
public:
    /// Calls every subscriber, under the lock: once a subscription is destroyed, its function is not running
    /// and never runs again. So a subscriber must neither subscribe nor unsubscribe from within.
    void wake_all() {
        std::lock_guard lock{mutex_};
        for (auto& w : wakes_) w.wake();
    }
    std::uint64_t add(std::function<void()> wake) {
        std::lock_guard lock{mutex_};
        wakes_.push_back({++last_id_, std::move(wake)});
        return last_id_;
    }
    void remove(std::uint64_t id) {
        std::lock_guard lock{mutex_};
        wakes_.drop_if([id](Wake const& w) { return w.id == id; });
    }

private:
    std::mutex mutex_;
    struct Wake {
        std::uint64_t id;
        std::function<void()> wake;
    };
    List<Wake> wakes_;
    std::uint64_t last_id_ = 0;
};

/// Keeps a subscriber subscribed. May outlive the store.
class WakeSubscription {
public:
    WakeSubscription(std::shared_ptr<WakeList> list, std::function<void()> wake)
        : list_{std::move(list)}, id_{list_->add(std::move(wake))} {}
    WakeSubscription(WakeSubscription&& o) noexcept : list_{std::move(o.list_)}, id_{o.id_} {}
    WakeSubscription& operator=(WakeSubscription&& o) noexcept {
        std::swap(list_, o.list_), std::swap(id_, o.id_);
        return *this;
    }
    ~WakeSubscription() {
        if (list_) list_->remove(id_);
    }

private:
    std::shared_ptr<WakeList> list_;
    std::uint64_t id_;
};

}  // namespace fila::inline v1::detail
