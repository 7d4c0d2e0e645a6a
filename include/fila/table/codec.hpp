// SPDX-License-Identifier: MIT
// codec<T>: how a member becomes a column's value and comes back. The one customization of a mapping.
//
//   template <> struct fila::codec<Money> {                       // once, for every Money
//       static std::int64_t to(Money m) { return m.cents; }
//       static Money from(std::int64_t cents) { return Money{cents}; }
//   };
//
// `to` returns one of the wire types: std::int64_t, double, bool, std::string, Bytes, Uuid, Instant. `from`
// may throw any std::exception: that row then fails, alone. `static constexpr std::string_view sql_type`
// names the column's type where the wire type does not say it ("jsonb"). For one column only, pass a codec to
// `.column`.
#pragma once

#include <fila/table/values.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fila::inline v1 {

/// Empty rather than undefined: an unknown type is then refused in a sentence, and not as an incomplete type.
template <class T>
struct codec {};

/// Integers are 64 bits in the database; one that does not fit throws std::out_of_range.
template <std::integral T>
    requires(!std::same_as<T, bool>)
struct codec<T> {
    /// Throws std::out_of_range above 2^63 - 1.
    static constexpr std::int64_t to(T value) {
        if (!std::in_range<std::int64_t>(value)) throw std::out_of_range("integer does not fit 64 bits");
        return static_cast<std::int64_t>(value);
    }
    /// Throws std::out_of_range if the member is too small for it.
    static constexpr T from(std::int64_t value) {
        if (!std::in_range<T>(value)) throw std::out_of_range("integer does not fit the member");
        return static_cast<T>(value);
    }
};

/// Enumerations are their numbers; which of them have a name is not looked at.
template <class T>
    requires std::is_enum_v<T>
struct codec<T> {
    /// How the number travels.
    using number = codec<std::underlying_type_t<T>>;
    /// The number.
    static constexpr std::int64_t to(T value) {
        return number::to(static_cast<std::underlying_type_t<T>>(value));
    }
    /// Throws std::out_of_range if the underlying type is too small for it.
    static constexpr T from(std::int64_t value) { return static_cast<T>(number::from(value)); }
};

/// Single precision travels as double.
template <>
struct codec<float> {
    /// Exact.
    static constexpr double to(float value) { return static_cast<double>(value); }
    /// Rounds.
    static constexpr float from(double value) { return static_cast<float>(value); }
};

/// A type that a driver binds and reads as it is.
template <class T>
concept WireType = std::same_as<T, std::int64_t> || std::same_as<T, double> || std::same_as<T, bool> ||
                   std::same_as<T, std::string> || std::same_as<T, Bytes> || std::same_as<T, Uuid> ||
                   std::same_as<T, Instant>;

/// What a driver knows travels as it is.
template <WireType T>
    requires(!std::integral<T> || std::same_as<T, bool>)
struct codec<T> {
    /// The same object.
    static T const& to(T const& value) { return value; }
    /// The value as the driver read it.
    static T from(T value) { return value; }
};

namespace detail {

template <class T>
struct unwrap_optional {
    using type = T;
    static constexpr bool nullable = false;
};
template <class T>
struct unwrap_optional<std::optional<T>> {
    using type = T;
    static constexpr bool nullable = true;
};
template <class T>
inline constexpr bool nullable_v = unwrap_optional<T>::nullable;

/// The wire type that codec `C` gives a member of type `M`.
template <class C, class M>
using wire_t = std::remove_cvref_t<decltype(C::to(std::declval<typename unwrap_optional<M>::type const&>()))>;

template <class C, class M>
concept CodecFor = requires(typename unwrap_optional<M>::type const& value) { C::to(value); } &&
                   WireType<wire_t<C, M>> && requires(wire_t<C, M> wire) {
                       { C::from(std::move(wire)) } -> std::convertible_to<typename unwrap_optional<M>::type>;
                   };

enum class Wire { integer, real, boolean, text, bytes, uuid, instant };

template <WireType W>
inline constexpr Wire wire_kind = std::same_as<W, std::int64_t>  ? Wire::integer
                                  : std::same_as<W, double>      ? Wire::real
                                  : std::same_as<W, bool>        ? Wire::boolean
                                  : std::same_as<W, std::string> ? Wire::text
                                  : std::same_as<W, Bytes>       ? Wire::bytes
                                  : std::same_as<W, Uuid>        ? Wire::uuid
                                                                 : Wire::instant;

template <class C, class M>
[[nodiscard]] Value encode(M const& member) {
    if constexpr (nullable_v<M>)
        return member ? Value{C::to(*member)} : Value{};
    else
        return Value{C::to(member)};
}

/// `field` is a driver's view of one column of one row: null(), get<W>().
template <class C, class M, class Field>
void decode(Field const& field, M& into) {
    if (field.null()) {
        if constexpr (nullable_v<M>) {
            into.reset();
            return;
        } else {
            throw std::invalid_argument("NULL, and the member is not a std::optional");
        }
    }
    into = C::from(field.template get<wire_t<C, M>>());
}

}  // namespace detail
}  // namespace fila::inline v1
