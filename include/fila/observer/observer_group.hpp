// SPDX-License-Identifier: MIT
// ObserverGroup: several observers where one is asked for.
#pragma once

#include <fila/observer/observer_concept.hpp>

#include <concepts>
#include <exception>
#include <tuple>
#include <utility>

namespace fila::inline v1 {

/// Tells each member, in order, the events that it takes. A member that throws keeps none of the others from
/// hearing; the first exception is thrown on when all have heard.
/// Thread safety: that of its members.
///
///   fila::Processor p{store, pool, handler, fila::observe(count, log, [](fila::RowFailed const& e) { … })};
template <Observer... Os>
class ObserverGroup {
public:
    using policy_role = observer_role;

    /// Owns the members; they hear in this order.
    explicit ObserverGroup(Os... members) : members_{std::move(members)...} {}

    template <class Event>
        requires(std::invocable<Os&, Event const&> || ...)
    void operator()(Event const& e) {
        std::exception_ptr first;
        std::apply([&](Os&... members) { (tell(members, e, first), ...); }, members_);
        if (first) std::rethrow_exception(first);
    }

private:
    template <class O, class Event>
    static void tell(O& member, Event const& e, std::exception_ptr& first) {
        if constexpr (std::invocable<O&, Event const&>) {
            try {
                member(e);
            } catch (...) {
                if (!first) first = std::current_exception();
            }
        }
    }
    std::tuple<Os...> members_;
};

/// Gathers observers, plain lambdas too, into one policy.
template <Observer... Os>
[[nodiscard]] ObserverGroup<Os...> observe(Os... members) {
    return ObserverGroup<Os...>{std::move(members)...};
}

}  // namespace fila::inline v1
