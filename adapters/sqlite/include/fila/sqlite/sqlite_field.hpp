// SPDX-License-Identifier: MIT
// One row of a running statement, read by place.
#pragma once

#include <fila/table/values.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fila::inline v1::sqlite {

/// SQLite's columns hold anything: a value of another kind than asked throws, and only its row fails.
class Field {
public:
    /// Of the row at which the statement stands; `column` counts from 0. Nobody else may use the connection.
    Field(sqlite3_stmt* statement, int column) noexcept : value_{sqlite3_column_value(statement, column)} {}

    [[nodiscard]] bool null() const { return type() == SQLITE_NULL; }

    template <class W>
    [[nodiscard]] W get() const {
        if constexpr (std::same_as<W, std::int64_t>)
            return integer();
        else if constexpr (std::same_as<W, bool>)
            return integer() != 0;
        else if constexpr (std::same_as<W, double>)
            return real();
        else if constexpr (std::same_as<W, Instant>)
            return Instant{std::chrono::microseconds{integer()}};
        else if constexpr (std::same_as<W, std::string>)
            return text();
        else if constexpr (std::same_as<W, Uuid>)
            return uuid();
        else
            return bytes();
    }
    [[nodiscard]] Value cursor_value() const {
        switch (type()) {
            case SQLITE_NULL:
                return {};
            case SQLITE_INTEGER:
                return integer();
            case SQLITE_FLOAT:
                return real();
            case SQLITE_TEXT:
                return text();
            default:
                return bytes();
        }
    }

private:
    [[nodiscard]] int type() const { return sqlite3_value_type(value_); }
    [[nodiscard]] std::int64_t integer() const {
        if (type() != SQLITE_INTEGER) throw std::invalid_argument("not an integer");
        return sqlite3_value_int64(value_);
    }
    [[nodiscard]] double real() const {
        if (type() != SQLITE_FLOAT && type() != SQLITE_INTEGER) throw std::invalid_argument("not a number");
        return sqlite3_value_double(value_);
    }
    [[nodiscard]] std::string text() const {
        auto const* data = reinterpret_cast<char const*>(sqlite3_value_text(value_));
        return {data != nullptr ? data : "", size()};
    }
    [[nodiscard]] Bytes bytes() const {
        if (type() != SQLITE_BLOB && type() != SQLITE_TEXT)
            throw std::invalid_argument("neither bytes nor text");
        auto const* data = static_cast<std::byte const*>(sqlite3_value_blob(value_));
        auto const n = size();
        return n == 0 ? Bytes{} : Bytes(data, data + n);
    }
    [[nodiscard]] Uuid uuid() const {
        Uuid uuid;
        if (type() != SQLITE_BLOB) {
            auto const written = text();
            uuid = Uuid::parse(written);
            if (uuid.str() != written)  // a key written otherwise would never be found again
                throw std::invalid_argument("a uuid not in lower case with hyphens; map it as std::string");
            return uuid;
        }
        auto const octets = bytes();
        if (octets.size() != uuid.octets.size()) throw std::invalid_argument("not a uuid");
        std::memcpy(uuid.octets.data(), octets.data(), octets.size());
        return uuid;
    }
    /// After the call that fetched the data: it may convert.
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(sqlite3_value_bytes(value_)); }

    sqlite3_value* value_;  // looked up once: each sqlite3_column_… would do it again
};

/// The row at which a statement stands: `record[i]` is a Field.
class Record {
public:
    /// Until the statement is stepped or reset.
    explicit Record(sqlite3_stmt* statement) noexcept : statement_{statement} {}
    /// Columns count from 0, in the order of the statement.
    [[nodiscard]] Field operator[](std::size_t i) const { return {statement_, static_cast<int>(i)}; }

private:
    sqlite3_stmt* statement_;
};

}  // namespace fila::inline v1::sqlite
