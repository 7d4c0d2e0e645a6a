// SPDX-License-Identifier: MIT
// The names of fila, declared: for headers that only mention them.
#pragma once

#include <fila/config.hpp>

#include <cstdint>

namespace fila::inline v1 {

enum class Ack : std::uint8_t;
enum class StopReason : std::uint8_t;
enum class Supply : std::uint8_t;
enum class DrainUntil;

struct History;
class Outcome;
template <class Key>
struct Ticket;
template <class Row, class Key>
struct Settlement;
template <class Row, class Key>
class Batch;
template <class Cursor>
struct ClaimRequest;
template <class Cursor>
struct ClaimResult;

class Error;
class ConfigError;
class CriticalFailure;

class Context;
class BatchContext;
struct Failure;
struct Report;
struct DrainOptions;

struct Leased;
struct InTransaction;
struct Pace;
struct TimeLimit;

template <class S, class E, class H, class... Policies>
class Processor;

}  // namespace fila::inline v1
