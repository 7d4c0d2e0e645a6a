// SPDX-License-Identifier: MIT
// The handler room: the forms of a user's callable, and the contexts that they are given.
#pragma once

#include <fila/handler/context.hpp>
#include <fila/handler/handler_concept.hpp>
