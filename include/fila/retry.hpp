// SPDX-License-Identifier: MIT
// What becomes of a row whose attempt failed.
#pragma once

#include <fila/retry/exponential_backoff.hpp>
#include <fila/retry/fixed_delay.hpp>
#include <fila/retry/next_pass.hpp>
#include <fila/retry/no_retry.hpp>
#include <fila/retry/retry_concept.hpp>
