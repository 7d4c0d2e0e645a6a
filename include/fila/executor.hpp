// SPDX-License-Identifier: MIT
// Where handlers run.
#pragma once

#include <fila/executor/executor_concept.hpp>
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/task.hpp>
#include <fila/executor/thread_pool.hpp>
