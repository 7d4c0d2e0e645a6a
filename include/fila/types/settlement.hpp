// SPDX-License-Identifier: MIT
// Settlement: one row's outcome on its way to the store.
#pragma once

#include <fila/types/outcome.hpp>
#include <fila/types/ticket.hpp>

namespace fila::inline v1 {

/// `row` is the row as the handler left it, for stores that write result columns back with the status; null
/// where no handler saw it (a release, an undecodable row). It lives as long as the settle call.
template <class Row, class Key>
struct Settlement {
    Ticket<Key> ticket;        ///< without it nothing is written
    Outcome outcome;           ///< the retry policy has had its say
    Row const* row = nullptr;  ///< may be null
};

}  // namespace fila::inline v1
