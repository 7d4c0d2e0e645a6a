// SPDX-License-Identifier: MIT
// NullObserver: hears everything and does nothing.
#pragma once

#include <fila/observer/observer_concept.hpp>

namespace fila::inline v1 {

/// The default. Thread safety: stateless.
struct NullObserver {
    using policy_role = observer_role;

    template <class Event>
    void operator()(Event const&) const noexcept {}
};
static_assert(Observer<NullObserver>);

}  // namespace fila::inline v1
