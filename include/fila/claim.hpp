// SPDX-License-Identifier: MIT
// The claim room: how a row becomes ours. Leased (the default) marks it; InTransaction locks it.
#pragma once

#include <fila/claim/claim_concept.hpp>
#include <fila/claim/in_transaction.hpp>
#include <fila/claim/leased.hpp>
