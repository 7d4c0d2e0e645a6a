// SPDX-License-Identifier: MIT
// Time, and waiting.
#pragma once

#include <fila/clock/clock_concept.hpp>
#include <fila/clock/manual_clock.hpp>
#include <fila/clock/system_clock.hpp>
