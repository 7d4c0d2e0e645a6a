// SPDX-License-Identifier: MIT
// Hearing what happens.
#pragma once

#include <fila/observer/counting_observer.hpp>
#include <fila/observer/failure_stream.hpp>
#include <fila/observer/log_observer.hpp>
#include <fila/observer/null_observer.hpp>
#include <fila/observer/observer_concept.hpp>
#include <fila/observer/observer_group.hpp>
#include <fila/observer/progress_observer.hpp>
