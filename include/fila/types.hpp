// SPDX-License-Identifier: MIT
// The words shared by every room: time, tickets, outcomes, batches, errors.
#pragma once

#include <fila/types/abilities.hpp>
#include <fila/types/batch.hpp>
#include <fila/types/claim_request.hpp>
#include <fila/types/error.hpp>
#include <fila/types/outcome.hpp>
#include <fila/types/settlement.hpp>
#include <fila/types/stop_reason.hpp>
#include <fila/types/ticket.hpp>
#include <fila/types/time.hpp>
