// SPDX-License-Identifier: MIT
// What fila asks of the compiler, said at once and in words.
//
// Everything lives in `namespace fila::inline v1`: two incompatible majors linked into one program get
// different symbols instead of a silent clash.
#pragma once

#include <fila/version.hpp>

#include <version>

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "fila needs C++20: compile with -std=c++20 or later"
#endif

#if defined(__clang__) && __clang_major__ < 16
#error "fila needs clang 16 or later"
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "fila needs g++ 12 or later"
#endif

#if !defined(__cpp_lib_jthread)
#error "fila needs std::stop_token: with libc++, compile and link with -fexperimental-library"
#endif
