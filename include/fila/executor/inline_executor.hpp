// SPDX-License-Identifier: MIT
// InlineExecutor: handlers run on the thread that calls `drain` or `run`, and on no other.
#pragma once

#include <fila/executor/executor_concept.hpp>

namespace fila::inline v1 {

/// For cron jobs, command line tools, tests, and handlers that are bound to one thread.
/// Alternatives: ThreadPool, or any pool of yours (see executor_concept.hpp).
/// Thread safety: stateless.
///
///   fila::Processor p{store, fila::InlineExecutor{}, handler};
///   p.drain();
struct InlineExecutor {
    void execute(Task task) const noexcept { task(); }
    [[nodiscard]] std::size_t concurrency() const noexcept { return 0; }
};
static_assert(Executor<InlineExecutor>);

}  // namespace fila::inline v1
