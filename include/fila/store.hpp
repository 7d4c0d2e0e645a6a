// SPDX-License-Identifier: MIT
// The store room: where rows live.
#pragma once

#include <fila/store/channel_store.hpp>
#include <fila/store/lent.hpp>
#include <fila/store/memory_store.hpp>
#include <fila/store/row_state.hpp>
#include <fila/store/store_concept.hpp>
