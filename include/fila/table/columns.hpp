// SPDX-License-Identifier: MIT
// The vocabulary of a mapping: status words, roles of columns, and the parts that a Table is made of.
#pragma once

#include <fila/table/codec.hpp>
#include <fila/table/table_name.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace fila::inline v1 {

/// `.completed = fila::erased`: the row is deleted instead of marked. Never a default for a table of yours.
/// A word that no column of text can hold.
inline constexpr std::string_view erased{"\0erased", 7};
/// Whether rows with this status are deleted.
[[nodiscard]] constexpr bool is_erased(std::string_view word) noexcept { return word == erased; }

/// The words in your status column. They are rendered as literals, so that partial indexes on them are used.
/// completed, dead and discarded may be `fila::erased`. `type` is the column's type where it is not text:
/// "smallint", "billing.payment_state"; it is pasted into the SQL.
struct StatusWords {
    std::string_view pending = "pending";        ///< may be claimed
    std::string_view processing = "processing";  ///< in somebody's hand; no row has it under InTransaction
    std::string_view completed = "completed";    ///< done, unless the handler gave a word of its own
    std::string_view dead = "dead";              ///< given up, until it is redriven
    std::string_view discarded = "discarded";    ///< finished without being done
    std::string_view type = "text";              ///< of the column, in SQL
};

/// What NULL means in a due time or a priority. Refused: verify() insists on NOT NULL.
enum class Nulls {
    refused,  ///< verify() insists on NOT NULL
    due_now,  ///< of a due time
    as_zero,  ///< of a priority
};
/// Which priorities go first.
enum class Order {
    lowest_first,   ///< as EnqueueOptions has it
    highest_first,  ///< for a table that means it so
};
/// Who makes the key of a row that we enqueue: by default the database for integers, else the row.
enum class KeySource {
    database,  ///< a default, an identity or the rowid
    row,       ///< the member, as it is
};

/// The optional columns; each switches on an ability.
namespace column_role {
struct lease_until;
struct updated_at;
struct fence;
struct owner;
struct failures;
struct crashes;
struct due_at;
struct priority;
struct last_error;
}  // namespace column_role

namespace detail {

struct key_part;
struct status_part;
struct where_part;
struct column_part;
struct output_part;
struct fixed_part;
struct split_part;

template <class Row, class M, class C>
struct Key {
    using role = key_part;
    using member_type = M;
    using codec_type = C;
    std::string_view name;
    M Row::* member;
    KeySource source;
};
template <class Row, class M, class C, class Role>
struct Column {
    using role = Role;
    using member_type = M;
    using codec_type = C;
    std::string_view name;
    M Row::* member;
};
struct Status {
    using role = status_part;
    std::string_view name;
    StatusWords words;
};
struct Where {
    using role = where_part;
    std::string_view condition;
};
struct Fixed {
    using role = fixed_part;
    std::string_view name;
    std::string_view text;
    std::int64_t number = 0;
    bool is_number = false;

    [[nodiscard]] std::string value() const { return is_number ? std::to_string(number) : quote_word(text); }
};
struct Split {
    using role = split_part;
    std::string_view name{};  ///< no column
};
template <class Role>
struct Control {
    using role = Role;
    std::string_view name;
    Nulls nulls = Nulls::refused;
    Order order = Order::lowest_first;
};

/// Parts that may be given many times.
template <class Role>
inline constexpr bool repeatable_v = std::is_same_v<Role, column_part> || std::is_same_v<Role, output_part> ||
                                     std::is_same_v<Role, fixed_part>;

template <class Part>
using part_wire_t = wire_t<typename Part::codec_type, typename Part::member_type>;
template <class Part>
inline constexpr Wire part_wire_v = wire_kind<part_wire_t<Part>>;

constexpr StatusWords checked_words(StatusWords words) {
    for (auto const word : {words.pending, words.processing, words.completed, words.dead, words.discarded})
        if (word.empty() || (!is_erased(word) && word.find('\0') != word.npos))
            throw std::invalid_argument("fila::table: a status word is empty or contains NUL");
    for (auto const word : {words.pending, words.processing, words.completed, words.dead, words.discarded})
        if (!is_utf8(word)) throw std::invalid_argument("fila::table: a status word is not UTF-8");
    if (is_erased(words.pending) || is_erased(words.processing))
        throw std::invalid_argument("fila::table: pending and processing cannot be erased");
    if (words.pending == words.processing)
        throw std::invalid_argument("fila::table: pending and processing are the same word");
    for (auto const word : {words.completed, words.dead, words.discarded})
        if (word == words.pending || word == words.processing)
            throw std::invalid_argument("fila::table: a final status word is also pending or processing");
    if (words.type.empty()) throw std::invalid_argument("fila::table: the status type is empty");
    return words;
}

}  // namespace detail
}  // namespace fila::inline v1
