// SPDX-License-Identifier: MIT
// The version of fila: the one place where it is written. CMake and the package recipes read it from here.
#pragma once

/// Another one breaks the interface. While it is 0, the minor version does.
#define FILA_VERSION_MAJOR 0
/// Another one adds to it.
#define FILA_VERSION_MINOR 1
/// Another one only mends.
#define FILA_VERSION_PATCH 0
