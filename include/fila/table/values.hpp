// SPDX-License-Identifier: MIT
// The values that travel between a member and a column: seven wire types and NULL.
#pragma once

#include <fila/config.hpp>

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fila::inline v1 {

/// What a BLOB or a bytea holds.
using Bytes = std::vector<std::byte>;

/// A moment as databases store it: microseconds of Unix time, UTC. Only for columns of yours: leases and due
/// times are judged by the store's clock and never cross into the program.
using Instant = std::chrono::sys_time<std::chrono::microseconds>;

/// 128 bits, written as 8-4-4-4-12 hexadecimal digits.
struct Uuid {
    std::array<std::uint8_t, 16> octets{};  ///< in the order in which they are written

    friend constexpr auto operator<=>(Uuid const&, Uuid const&) = default;

    /// Accepts upper and lower case, with or without hyphens. Throws std::invalid_argument for anything else.
    [[nodiscard]] static constexpr Uuid parse(std::string_view text) {
        Uuid uuid;
        std::size_t digits = 0;
        for (char const c : text) {
            if (c == '-') continue;
            int const value = digit(c);
            if (value < 0 || digits == 32) throw std::invalid_argument("not a uuid");
            auto& octet = uuid.octets[digits / 2];
            octet = static_cast<std::uint8_t>(octet << 4 | value);
            ++digits;
        }
        if (digits != 32) throw std::invalid_argument("not a uuid");
        return uuid;
    }
    /// In lower case, with hyphens.
    [[nodiscard]] std::string str() const {
        static constexpr std::string_view hex = "0123456789abcdef";
        std::string text;
        text.reserve(36);
        for (std::size_t i = 0; i < octets.size(); ++i) {
            if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
            text += hex[octets[i] >> 4];
            text += hex[octets[i] & 15];
        }
        return text;
    }

private:
    static constexpr int digit(char c) noexcept {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    }
};

/// A bound value. Nothing else ever reaches a database, except text rendered from the mapping.
using Value = std::variant<std::monostate, std::int64_t, double, bool, std::string, Bytes, Uuid, Instant>;

}  // namespace fila::inline v1
