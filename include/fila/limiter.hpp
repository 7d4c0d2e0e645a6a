// SPDX-License-Identifier: MIT
// How many rows may be ours at once.
#pragma once

#include <fila/limiter/fixed_limiter.hpp>
#include <fila/limiter/limiter_concept.hpp>
#include <fila/limiter/unlimited.hpp>
