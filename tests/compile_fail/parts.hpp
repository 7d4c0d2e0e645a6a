// SPDX-License-Identifier: MIT
// What the cases share: a store that has every verb, and a row.
#pragma once

#include <fila/executor/inline_executor.hpp>
#include <fila/processor/processor.hpp>
#include <fila/store/memory_store.hpp>

struct Job {
    int number = 0;
};

struct JobStore {
    using row_type = Job;
    using key_type = int;
    using cursor_type = int;
    using result_type = fila::ClaimResult<int>;
    using request_type = fila::ClaimRequest<int>;
    using batch_type = fila::Batch<Job, int>;
    using settlements_type = std::span<fila::Settlement<Job, int> const>;

    result_type claim(request_type const& r, batch_type&) { return {r.after, fila::Supply::dry}; }
    void settle(settlements_type, std::span<fila::Ack>) {}
};

inline void work(Job const&) {}
