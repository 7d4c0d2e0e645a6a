// SPDX-License-Identifier: MIT
// Mappings that the tests of this room share.
#pragma once

#include <fila/table/job_table.hpp>
#include <fila/table/table_builder.hpp>

#include <cstdint>
#include <optional>
#include <string>

struct Import {
    std::int64_t id = 0;
    std::string cells;
    std::optional<fila::Instant> seen;
    std::string differences;
};

/// Every optional column, odd names, two constant columns, a condition, a result column.
inline constexpr auto imports = fila::table<Import>("etl.import rows")
                                    .key("id", &Import::id)
                                    .column("cells", &Import::cells)
                                    .column("seen", &Import::seen)
                                    .output("differences", &Import::differences)
                                    .status("status", {.completed = fila::erased})
                                    .where("tenant = 7 -- {ours} :only")
                                    .fixed("queue", "o'mail")
                                    .fixed("shard", 3)
                                    .lease_until("locked_until")
                                    .fence("fence")
                                    .owner("locked_by")
                                    .failures("failures")
                                    .crashes("crashes")
                                    .due_at("run_at", fila::Nulls::due_now)
                                    .priority("priority", fila::Order::highest_first)
                                    .last_error("error");

struct Hook {
    fila::Uuid id;
    std::string url;
};

/// A status that is an enum, and a time of change: rescue by age.
inline constexpr auto hooks = fila::table<Hook>("hooks")
                                  .key("id", &Hook::id)
                                  .column("url", &Hook::url)
                                  .status("state", {.pending = "new",
                                                    .processing = "sending",
                                                    .completed = "sent",
                                                    .dead = "gave up",
                                                    .type = "hook_state"})
                                  .updated_at("updated_at");

struct Payment {
    std::string code;
    std::int64_t cents = 0;
};

/// A key and a status, nothing of ours.
inline constexpr auto payments = fila::table<Payment>("billing.payments")
                                     .key("code", &Payment::code)
                                     .column("cents", &Payment::cents)
                                     .status("status");

/// Dead rows are deleted: rescue has two statements.
inline constexpr auto fleeting =
    fila::table<Payment>("fleeting")
        .key("code", &Payment::code)
        .status("status", {.completed = fila::erased, .dead = fila::erased, .discarded = fila::erased})
        .lease_until("lease_until")
        .fence("fence")
        .crashes("crashes");

inline constexpr auto jobs = fila::single_job_table<std::string>("fila_jobs");
inline constexpr auto split_jobs = fila::job_table<std::string>("fila_jobs");

/// Split, with all that may be in a split table.
inline constexpr auto parcels = fila::table<Import>("post.parcels")
                                    .key("id", &Import::id)
                                    .column("cells", &Import::cells)
                                    .output("differences", &Import::differences)
                                    .status("state", {.completed = "sent", .dead = fila::erased})
                                    .fixed("queue", "o'mail")
                                    .fixed("shard", 3)
                                    .lease_until("locked_until")
                                    .fence("fence")
                                    .owner("locked_by")
                                    .crashes("crashes")
                                    .updated_at("touched")
                                    .priority("priority")
                                    .split();
