// SPDX-License-Identifier: MIT
// One-line verbs for tests.
#pragma once

#include <fila/store/store_concept.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

template <class S>
fila::batch_t<S> claim(S& store, std::size_t limit = 100, fila::Duration lease = std::chrono::minutes{1}) {
    fila::batch_t<S> batch;
    (void)store.claim({limit, {}, lease}, batch);
    return batch;
}
template <class S>
fila::Ack settle(S& store, fila::ticket_t<S> const& ticket, fila::Outcome outcome,
                 fila::row_t<S> const* row = nullptr) {
    std::array<fila::settlement_t<S>, 1> const one{{{ticket, std::move(outcome), row}}};
    std::array<fila::Ack, 1> acks{fila::Ack::in_doubt};
    store.settle(one, acks);
    return acks[0];
}
template <class S>
fila::Ack extend(S& store, fila::ticket_t<S> const& ticket, fila::Duration lease = std::chrono::minutes{1}) {
    std::array<fila::Ack, 1> acks{fila::Ack::in_doubt};
    store.extend(std::span{&ticket, 1}, lease, acks);
    return acks[0];
}
