// SPDX-License-Identifier: MIT
// Values as PostgreSQL's text: parameters of their own, and arrays of many rows' values in one parameter.
#pragma once

#include <fila/postgres/postgres_pqxx.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/values.hpp>
#include <fila/types/error.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace fila::inline v1::postgres::detail {

/// PostgreSQL's text has no NUL, and libpq would cut the value there without a word.
inline std::string const& without_nul(std::string const& text) {
    if (auto const at = text.find('\0'); at != std::string::npos)
        throw Error{
            "fila postgres: a text value has a NUL at byte " + std::to_string(at) +
                ", which PostgreSQL's text cannot hold; map the member to a bytea column (fila::Bytes)",
            {.code = "22021"}};
    return text;
}

inline std::string real_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    char text[40];
    auto const size = static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.17g", value));
    std::string out{text, size};
    for (char& c : out)
        if (c == ',') c = '.';  // a process's locale may write its own decimal mark
    return out;
}

inline std::string bytes_text(Bytes const& bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out{"\\x"};
    out.reserve(2 + 2 * bytes.size());
    for (std::byte b : bytes)
        (out += digits[std::to_integer<unsigned>(b) >> 4]) += digits[std::to_integer<unsigned>(b) & 15U];
    return out;
}

/// The text of one value; nothing for NULL.
inline std::optional<std::string> parameter(Value const& value) {
    return std::visit(
        []<class V>(V const& v) -> std::optional<std::string> {
            if constexpr (std::same_as<V, std::monostate>)
                return std::nullopt;
            else if constexpr (std::same_as<V, std::string>)
                return without_nul(v);
            else if constexpr (std::same_as<V, bool>)
                return v ? "t" : "f";
            else if constexpr (std::same_as<V, double>)
                return real_text(v);
            else if constexpr (std::same_as<V, Bytes>)
                return bytes_text(v);
            else if constexpr (std::same_as<V, Uuid>)
                return v.str();
            else if constexpr (std::same_as<V, Instant>)
                return std::to_string(v.time_since_epoch().count());
            else
                return std::to_string(v);
        },
        value);
}

/// `{"a","b\"c",NULL}`: every element quoted, `"` and `\` escaped.
inline std::string array(std::span<Value const> values) {
    std::string out{"{"};
    for (Value const& value : values) {
        if (out.size() > 1) out += ',';
        auto const text = parameter(value);
        if (!text) {
            out += "NULL";
            continue;
        }
        out += '"';
        for (char c : *text) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        out += '"';
    }
    return out += '}';
}

/// In the statement's order. A parameter without a value is NULL; a value without a parameter is left out.
inline bridge::Parameters parameters(Statement const& statement, Bindings const& bindings,
                                     Rows const& rows = {}) {
    bridge::Parameters out;
    out.reserve(statement.parameters.size());
    for (std::string const& name : statement.parameters) {
        auto& text = out.emplace_back();
        for (std::size_t c = 0; c < rows.names.size() && !text; ++c)
            if (rows.names[c] == name) text = array(rows.columns[c]);
        for (auto b = bindings.begin(); b != bindings.end() && !text; ++b)
            if (b->first == name) text = parameter(b->second);
    }
    return out;
}

}  // namespace fila::inline v1::postgres::detail
