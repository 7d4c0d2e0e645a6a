// SPDX-License-Identifier: MIT
// Catch2, whichever major is installed. Tests keep to what both have.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
