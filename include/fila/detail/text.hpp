// SPDX-License-Identifier: MIT
// Text for people and for error columns: keys in words, reasons made safe.
#pragma once

#include <fila/config.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace fila::inline v1::detail {

/// The length of the valid UTF-8 sequence at the start of `s`, 0 if there is none.
constexpr std::size_t utf8_length(std::string_view s) noexcept {
    auto const at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    auto const first = at(0);
    if (first < 0x80) return 1;
    std::size_t const n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || s.size() < n) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((at(i) & 0xC0) != 0x80) return 0;
    // Overlong forms, surrogates, and what lies beyond the last code point.
    if ((first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) > 0x9F) ||
        (first == 0xF0 && at(1) < 0x90) || (first == 0xF4 && at(1) > 0x8F))
        return 0;
    return n;
}

constexpr bool is_utf8(std::string_view s) noexcept {
    for (std::size_t n = 0; !s.empty(); s.remove_prefix(n))
        if ((n = utf8_length(s)) == 0) return false;
    return true;
}

/// What any store can keep: valid UTF-8 without NUL, cut between code points at 4 KiB.
inline std::string printable(std::string_view s) {
    constexpr std::size_t limit = 4096;
    std::string out;
    out.reserve(s.size() < limit ? s.size() : limit);
    while (!s.empty()) {
        auto const n = s[0] == '\0' ? 0 : utf8_length(s);
        if (out.size() + (n ? n : 1) > limit) break;
        if (n)
            out.append(s.substr(0, n));
        else
            out += '?';
        s.remove_prefix(n ? n : 1);
    }
    return out;
}

template <class Key>
std::string key_text(Key const& key) {
    if constexpr (std::integral<Key>)
        return std::to_string(key);
    else if constexpr (std::convertible_to<Key const&, std::string_view>)
        return printable(std::string_view{key});
    else if constexpr (requires {
                           { key.str() } -> std::convertible_to<std::string>;
                       })
        return key.str();
    else
        return {};
}

}  // namespace fila::inline v1::detail
