// SPDX-License-Identifier: MIT
// The verbs in the words of a test: claim some rows, settle them all alike, look at what the store answered.
#pragma once

#include <fila/store/store_concept.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fila_test {

using namespace std::chrono_literals;

template <class Source>
struct Claimed {
    fila::batch_t<Source> batch;
    fila::ClaimResult<fila::cursor_t<Source>> result;

    std::size_t size() const { return batch.size(); }
    auto keys() const {
        std::vector<fila::key_t<Source>> out;
        for (auto const& t : batch.tickets()) out.push_back(t.key);
        return out;
    }
};

template <class Source>
Claimed<Source> claim(Source& source, std::size_t limit, fila::cursor_t<Source> after = {},
                      fila::Duration lease = 1min) {
    Claimed<Source> c;
    c.result = source.claim({limit, std::move(after), lease}, c.batch);
    return c;
}

template <class Source>
std::vector<fila::Ack> settle(Source& source, std::vector<fila::settlement_t<Source>> const& settlements) {
    std::vector<fila::Ack> acks(settlements.size(), fila::Ack::in_doubt);
    source.settle(settlements, acks);
    return acks;
}
template <class Source>
std::vector<fila::Ack> settle(Source& source, std::span<fila::ticket_t<Source> const> tickets,
                              fila::Outcome const& outcome) {
    std::vector<fila::settlement_t<Source>> all;
    for (auto const& t : tickets) all.push_back({t, outcome, nullptr});
    return settle(source, all);
}
template <class Source>
fila::Ack settle_one(Source& source, fila::ticket_t<Source> const& ticket, fila::Outcome const& outcome) {
    return settle(source, {&ticket, 1}, outcome).front();
}

inline std::size_t count(std::vector<fila::Ack> const& acks, fila::Ack wanted) {
    std::size_t n = 0;
    for (auto a : acks) n += a == wanted;
    return n;
}

/// Everything that is there, claimed and completed, batch by batch; how many it was.
template <class Source>
std::size_t work_off(Source& source, std::size_t limit, std::size_t budget = 100'000) {
    std::size_t done = 0;
    for (fila::cursor_t<Source> cursor{}; budget > 0; --budget) {
        auto c = claim(source, limit, cursor);
        done += count(settle(source, c.batch.tickets(), fila::complete()), fila::Ack::applied);
        if (c.result.supply != fila::Supply::more) break;
        cursor = c.result.cursor;
    }
    return done;
}

template <class F>
std::optional<fila::Error> error_of(F f) {
    try {
        f();
    } catch (fila::Error const& e) {
        return e;
    }
    return std::nullopt;
}

}  // namespace fila_test
