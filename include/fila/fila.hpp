// SPDX-License-Identifier: MIT
// The core. Adapters come apart, and bring the table room: <fila/sqlite/sqlite_store.hpp>,
// <fila/postgres/postgres_store.hpp>.
//
// | room | header | says |
// |---|---|---|
// | processor | fila/processor.hpp | the engine: drain, run, stop |
// | store | fila/store.hpp | where rows live |
// | claim | fila/claim.hpp | how a row becomes ours |
// | executor | fila/executor.hpp | where handlers run |
// | limiter | fila/limiter.hpp | how many rows at once |
// | handler | fila/handler.hpp | the user's work |
// | retry | fila/retry.hpp | failure → decision |
// | clock | fila/clock.hpp | time, and waiting |
// | observer | fila/observer.hpp | events, metrics |
// | channel | fila/channel.hpp | a bounded queue, a range |
// | types | fila/types.hpp | the words that all of them share |
//
// Two rooms are not among them: fila/table.hpp, the user's table described, which is a quarter of all that there is to
// compile and of use to SQL stores only; and fila/testing, which needs Catch2.
#pragma once

#include <fila/channel.hpp>
#include <fila/claim.hpp>
#include <fila/clock.hpp>
#include <fila/executor.hpp>
#include <fila/fwd.hpp>
#include <fila/handler.hpp>
#include <fila/limiter.hpp>
#include <fila/observer.hpp>
#include <fila/processor.hpp>
#include <fila/retry.hpp>
#include <fila/store.hpp>
#include <fila/types.hpp>
