// SPDX-License-Identifier: MIT
// A bounded queue between threads.
#pragma once

#include <fila/channel/channel.hpp>
