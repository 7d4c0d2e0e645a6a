// SPDX-License-Identifier: MIT
// The processor room: the engine's front door, its pace, its limits of time, its report, and a stop on signals.
#pragma once

#include <fila/processor/health.hpp>
#include <fila/processor/pace.hpp>
#include <fila/processor/processor.hpp>
#include <fila/processor/report.hpp>
#include <fila/processor/stop_on_signal.hpp>
#include <fila/processor/time_limit.hpp>
