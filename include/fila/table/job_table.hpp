// SPDX-License-Identifier: MIT
// fila::job_table<Payload>("fila_jobs"): a table for those who have none. A mapping like any other, with
// every column, split where the database can; completed rows are deleted.
//
//   constexpr auto mails = fila::job_table<std::string>("fila_jobs");
//   SqliteStore store{fila::sqlite::Config{"app.db"}, mails, fila::OnStart::migrate};
//   store.enqueue({{.payload = "to: ada"}});
#pragma once

#include <fila/table/table_builder.hpp>

#include <cstdint>

namespace fila::inline v1 {

/// `id` is given by the database. The payload is one column and is never looked into: std::string is text,
/// fila::Bytes is bytes, anything else goes through its codec.
template <class Payload>
struct Job {
    std::int64_t id = 0;  ///< ignored by `enqueue`
    Payload payload{};    ///< yours
};

/// The mapping, in one table in every database: for what speaks PostgreSQL's protocol and has no ctid, no triggers
/// with the rows of a statement, or no use for them. Every ability is there, so every policy fits.
template <class Payload, class Codec = codec<typename detail::unwrap_optional<Payload>::type>>
[[nodiscard]] constexpr auto single_job_table(TableName name, Codec payload_codec = {}) {
    return table<Job<Payload>>(name)
        .key("id", &Job<Payload>::id)
        .column("payload", &Job<Payload>::payload, payload_codec)
        .status("status", {.completed = erased})
        .lease_until("lease_until")
        .fence("fence")
        .owner("owner")
        .failures("failures")
        .crashes("crashes")
        .due_at("due_at")
        .priority("priority")
        .last_error("last_error");
}

/// The same, split in PostgreSQL: see `Table::split`. Of this table too, any program may insert, delay, move up and
/// delete jobs with SQL of its own.
template <class Payload, class Codec = codec<typename detail::unwrap_optional<Payload>::type>>
[[nodiscard]] constexpr auto job_table(TableName name, Codec payload_codec = {}) {
    return single_job_table<Payload>(name, payload_codec).split();
}

}  // namespace fila::inline v1
