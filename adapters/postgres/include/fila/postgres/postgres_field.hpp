// SPDX-License-Identifier: MIT
// One field of a result, from PostgreSQL's text to a wire type: strictly, or std::invalid_argument with the
// reason.
#pragma once

#include <fila/postgres/postgres_pqxx.hpp>
#include <fila/table/touched.hpp>
#include <fila/table/values.hpp>

#include <charconv>
#include <chrono>
#include <clocale>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fila::inline v1::postgres {

namespace detail {

[[noreturn]] inline void refuse(std::string_view wanted, std::string_view text) {
    constexpr std::size_t shown = 40;
    throw std::invalid_argument{"not " + std::string{wanted} + ": '" + std::string{text.substr(0, shown)} +
                                (text.size() > shown ? "…'" : "'")};
}

inline std::int64_t integer_from(std::string_view text) {
    std::int64_t value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) refuse("an integer of 64 bits", text);
    if (error != std::errc{} || end != text.data() + text.size()) refuse("an integer", text);
    return value;
}

inline double real_from(std::string_view text) {
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    // strtod also takes white space, hexadecimal digits and words, and makes infinity of what is too large.
    if (text.find_first_not_of("+-.0123456789eE") != text.npos) refuse("a number", text);
    // strtod obeys the process's locale, which may write another decimal mark than the server's point;
    // from_chars would not, but libc++ lacks it for double.
    std::string copy{text};
    if (auto const point = copy.find('.'); point != std::string::npos)
        copy[point] = *std::localeconv()->decimal_point;
    char* end = nullptr;
    double const value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || end != copy.c_str() + copy.size()) refuse("a number", text);
    if (std::isinf(value)) refuse("a number that fits a double", text);
    return value;
}

inline Bytes bytes_from(std::string_view text) {
    if (!text.starts_with("\\x") || text.size() % 2 != 0) refuse("bytea in hex", text);
    Bytes bytes;
    bytes.reserve(text.size() / 2 - 1);
    for (std::size_t i = 2; i < text.size(); i += 2) {
        std::uint8_t octet{};
        auto const [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, octet, 16);
        if (error != std::errc{} || end != text.data() + i + 2) refuse("bytea in hex", text);
        bytes.push_back(static_cast<std::byte>(octet));
    }
    return bytes;
}

/// The text of one field as a wire type. An Instant is in microseconds since 1970, which our statements ask for.
template <class Wire>
[[nodiscard]] Wire from_text(std::string_view text) {
    if constexpr (std::same_as<Wire, std::int64_t>)
        return integer_from(text);
    else if constexpr (std::same_as<Wire, double>)
        return real_from(text);
    else if constexpr (std::same_as<Wire, bool>) {
        if (text != "t" && text != "f") refuse("a boolean", text);
        return text == "t";
    } else if constexpr (std::same_as<Wire, std::string>)
        return std::string{text};
    else if constexpr (std::same_as<Wire, Bytes>)
        return bytes_from(text);
    else if constexpr (std::same_as<Wire, Uuid>)
        return Uuid::parse(text);
    else {
        static_assert(std::same_as<Wire, Instant>, "fila postgres: not a wire type");
        return Instant{std::chrono::microseconds{integer_from(text)}};
    }
}

}  // namespace detail

/// A view into a result, which must outlive it.
class Field {
public:
    /// `row` and `column` count from 0.
    Field(pqxx::result const& result, std::size_t row, std::size_t column)
        : text_{bridge::text(result, row, column)} {}

    [[nodiscard]] bool null() const noexcept { return !text_.has_value(); }
    /// As the server wrote it; throws std::invalid_argument for NULL.
    [[nodiscard]] std::string_view text() const {
        if (!text_) throw std::invalid_argument{"NULL where a value is needed"};
        return *text_;
    }

    template <class Wire>
    [[nodiscard]] Wire get() const {
        return detail::from_text<Wire>(text());
    }

    /// The database's own text, which cast back to the column's type is the same value again.
    [[nodiscard]] Value cursor_value() const { return text_ ? Value{std::string{*text_}} : Value{}; }

private:
    std::optional<std::string_view> text_;
};

/// One row of a result: `record[i]` is a Field.
class Record {
public:
    /// `row` counts from 0.
    Record(pqxx::result const& result, std::size_t row) : result_{&result}, row_{row} {}
    /// Columns count from 0, in the order of the statement.
    [[nodiscard]] Field operator[](std::size_t column) const { return {*result_, row_, column}; }

private:
    pqxx::result const* result_;
    std::size_t row_;
};

namespace detail {

template <class OnRow>
void each_row(pqxx::result const& result, OnRow const& on_row) {
    for (std::size_t i = 0; i < bridge::rows(result); ++i) on_row(Record{result, i});
}
/// The same; of a statement without columns, each row that it touched.
template <class OnRow>
void each_touched(pqxx::result const& result, OnRow const& on_row) {
    each_row(result, on_row);
    if (result.columns() != 0) return;
    auto const touched = static_cast<std::int64_t>(result.affected_rows());
    for (std::int64_t i = 1; i <= touched; ++i) on_row(Touched{i});
}

}  // namespace detail
}  // namespace fila::inline v1::postgres
