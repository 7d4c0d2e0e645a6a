// SPDX-License-Identifier: MIT
// Leased: a claim marks rows as ours for a while; a heartbeat keeps them; whoever dies is found out.
#pragma once

#include <fila/claim/claim_concept.hpp>

#include <chrono>

namespace fila::inline v1 {

/// The default strategy. Rows run at least once: a process that dies, or is cut off for longer than the
/// lease, loses its rows to others, and what it still writes is refused by the fence.
///
/// `lease`: how long others wait before they take the row of a dead process; only that, since a living one
/// extends it. `heartbeat`: zero means a third of the lease. `max_crashes`: a row whose owner has died this
/// often is dead-lettered, so that a row that kills its process does not do so for ever.
///
/// On a store without leases (a channel) a claim lasts until it is settled, and none of the fields matters.
///
///   fila::Processor p{store, fila::ThreadPool{8}, send, fila::Leased{.lease = 30s}};
struct Leased {
    using policy_role = claim_role;
    Duration lease = std::chrono::minutes{5};  ///< how long a row is ours; at least 1 ms
    Duration heartbeat{};                      ///< how often leases are extended; zero: a third of the lease
    std::uint32_t max_crashes = 5;  ///< the crash at which a row is dead-lettered instead of requeued

    /// How often leases are extended.
    [[nodiscard]] Duration beat() const noexcept {
        return heartbeat > Duration::zero() ? heartbeat : lease / 3;
    }

    /// Throws ConfigError naming each field that makes no sense.
    void validate() const {
        std::string faults;
        if (lease < std::chrono::milliseconds{1}) faults += "\n  Leased::lease must be at least 1 ms";
        if (lease > std::chrono::hours{24 * 365}) faults += "\n  Leased::lease must be at most a year";
        if (heartbeat < Duration::zero() || heartbeat > lease / 2)
            faults +=
                "\n  Leased::heartbeat must be zero (a third of the lease) or at most half of the lease";
        if (max_crashes < 1) faults += "\n  Leased::max_crashes must be at least 1";
        if (!faults.empty()) throw ConfigError{"fila: wrong configuration:" + faults};
    }

    template <class S>
    struct Grant {};
    static constexpr bool shared = true;

    template <class S>
    static consteval bool check() {
        ability::lease::check<offers_v<S, ability::lease>>();
        if constexpr (offers_v<S, ability::lease>) return detail::check_store<S>();
        return true;
    }
    template <class S>
    ClaimResult<cursor_t<S>> claim(S& s, Grant<S>&, ClaimRequest<cursor_t<S>> const& request,
                                   batch_t<S>& out) const {
        return s.claim(request, out);
    }
};

}  // namespace fila::inline v1
