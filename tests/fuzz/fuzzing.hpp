// SPDX-License-Identifier: MIT
// What the fuzz targets share: an input taken apart, and an expectation that ends the program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fuzzer/FuzzedDataProvider.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fila_fuzz {

using Input = FuzzedDataProvider;

/// The fuzzer reports an abort with the input that led to it.
inline void expect(bool met, char const* what, std::string_view about = {}) {
    if (met) return;
    std::fprintf(stderr, "not so: %s\n%.*s\n", what, static_cast<int>(about.size()), about.data());
    std::abort();
}

/// A text of up to 255 bytes whose length is said first: unlike FuzzedDataProvider's own it has any byte in it.
inline std::string text(Input& input) {
    auto const size = input.ConsumeIntegral<std::uint8_t>();
    return input.ConsumeBytesAsString(size);
}

/// What `f` returns, or nothing where it says std::invalid_argument with a reason: the one exception that a value
/// from outside may lead to. Any other ends the program.
template <class F>
bool accepted(F f) {
    try {
        f();
    } catch (std::invalid_argument const& e) {
        expect(!std::string_view{e.what()}.empty(), "a refusal gives its reason");
        return false;
    }
    return true;
}

}  // namespace fila_fuzz
