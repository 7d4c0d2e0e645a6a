// SPDX-License-Identifier: MIT
// The version of fila: the one place where it is written. CMake and the package recipes read it from here.
#pragma once

#define FILA_VERSION_MAJOR 0
#define FILA_VERSION_MINOR 1
#define FILA_VERSION_PATCH 0
