// SPDX-License-Identifier: MIT
// SqlSubscription: keeps a processor told of new rows: of those that its own store object enqueues, and where the
// driver can hear of them, of everybody's.
#pragma once

#include <fila/table/sql_core.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace fila::inline v1::detail {

/// All subscriptions of a store share one listener; it ends with the last of them. May outlive the store.
template <class T, class D>
class SqlSubscription {
    using Core = SqlCore<T, D>;

public:
    SqlSubscription(std::shared_ptr<Core> const& core, std::function<void()> wake)
        : local_{std::shared_ptr<WakeList>{core, &core->wakes}, std::move(wake)} {
        if constexpr (AnnouncingDriver<D>) {
            if (!D::listens(core->pool.config())) return;
            std::lock_guard const lock{core->listener_mutex};
            listener_ = core->listener.lock();
            if (listener_) return;
            listener_ = std::make_shared<listener_t<D>>(core->pool.config(), core->channel(),
                                                        [&core = *core] { core.wakes.wake_all(); });
            core->listener = listener_;
        }
    }

private:
    WakeSubscription local_;
    std::shared_ptr<listener_t<D>> listener_;  ///< destroyed first: it wakes the other
};

}  // namespace fila::inline v1::detail
