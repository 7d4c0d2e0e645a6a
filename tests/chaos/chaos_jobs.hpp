// SPDX-License-Identifier: MIT
// The table that the worker processes drain while they are disturbed.
#pragma once

#include <fila/table/table_builder.hpp>

#include <cstdint>
#include <string>

namespace fila_chaos {

/// `run` names the run of a handler that settled the row: the table tells who did it, the log of runs when. No
/// owner is mapped: the fence alone keeps late processes off.
struct ChaosJob {
    std::int64_t id = 0;
    std::string payload;
    std::int64_t run = 0;
};

[[nodiscard]] constexpr auto chaos_jobs(fila::TableName name) {
    return fila::table<ChaosJob>(name)
        .key("id", &ChaosJob::id)
        .column("payload", &ChaosJob::payload)
        .output("run", &ChaosJob::run)
        .status("status", {.completed = "done"})
        .lease_until("lease_until")
        .fence("fence")
        .failures("failures")
        .crashes("crashes")
        .due_at("due_at")
        .last_error("last_error");
}
/// The same, with what waits and who has it beside it. A crash of the server may undo claims then: they wait for no
/// disk.
[[nodiscard]] constexpr auto split_chaos_jobs(fila::TableName name) {
    return chaos_jobs(name).owner("owner").split();
}

}  // namespace fila_chaos
