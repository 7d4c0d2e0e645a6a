// SPDX-License-Identifier: MIT
// fila::table<Row>("schema.table"): what your table is called, said once; a literal value, checked while
// compiling.
//
// When to use: you have a table with a status column. If you have none, fila::job_table<Payload>() is a
// mapping that is ready. Each optional column switches on an ability; a policy that needs one which is not
// mapped is a compile error that names the column.
//
//   constexpr auto payments = fila::table<Payment>("billing.payments")
//       .key   ("id",     &Payment::id)
//       .column("cents",  &Payment::cents)
//       .status("status", {.pending = "due", .completed = "paid", .dead = "failed"})
//       .where ("due_date <= current_date");      // for the claim alone
//
// Names are views: literals, or text that outlives the mapping. A mapping is immutable; each call gives a new
// one. Nothing of the table's content is needed: extra columns and their order do not matter.
#pragma once

#include <fila/table/columns.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fila::inline v1 {

/// A mapping: each call returns a new one with one more part. A literal value, checked while compiling.
template <class Row, class... Parts>
class Table {
    template <class Role>
    static constexpr bool has_role = (std::same_as<typename Parts::role, Role> || ...);

public:
    using row_type = Row;

    /// Whether a part with this role is mapped.
    template <class Role>
    static constexpr bool has = has_role<Role>;
    /// A mapping without one makes no store.
    static constexpr bool has_key = has_role<detail::key_part>;
    /// A mapping without one makes no store.
    static constexpr bool has_status = has_role<detail::status_part>;
    /// Whether keys wait and are leased in tables of their own, where the database can (`.split()`).
    static constexpr bool is_split = has_role<detail::split_part>;
    /// Whether claims have a condition of the user's.
    static constexpr bool has_where = has_role<detail::where_part>;

    /// Start with `fila::table<Row>(name)`.
    constexpr explicit Table(TableName name, std::tuple<Parts...> parts = {}) : name_{name}, parts_{parts} {}

    // ---- what every mapping has -----------------------------------------------------------------

    /// The column that names a row for ever: unique, never changed. An integer, text, Bytes or Uuid.
    template <class M, class Class, class C = codec<typename detail::unwrap_optional<M>::type>>
    constexpr auto key(std::string_view name, M Class::* member,
                       KeySource source = std::integral<M> ? KeySource::database : KeySource::row,
                       C = {}) const {
        check_member<M, Class, C>();
        constexpr bool whole = !detail::nullable_v<M>;
        static_assert(whole, "fila::table: a key cannot be a std::optional");
        using W = detail::wire_t<C, M>;
        constexpr bool comparable = std::same_as<W, std::int64_t> || std::same_as<W, std::string> ||
                                    std::same_as<W, Bytes> || std::same_as<W, Uuid>;
        static_assert(comparable, "fila::table: a key is an integer, text, fila::Bytes or fila::Uuid");
        return with(detail::Key<Row, M, C>{detail::checked_identifier(name), member, source});
    }
    /// The status column and its words.
    constexpr auto status(std::string_view name, StatusWords words = {}) const {
        return with(detail::Status{detail::checked_identifier(name), detail::checked_words(words)});
    }
    /// A column that handlers see. NULL needs a std::optional member: else that row fails, alone.
    template <class M, class Class, class C = codec<typename detail::unwrap_optional<M>::type>>
    constexpr auto column(std::string_view name, M Class::* member, C = {}) const {
        check_member<M, Class, C>();
        return with(detail::Column<Row, M, C, detail::column_part>{detail::checked_identifier(name), member});
    }
    /// A column that handlers write: taken from the row as the handler left it and written with the status,
    /// in the same fenced statement. Written only; map it with `.column` too if handlers shall see it.
    template <class M, class Class, class C = codec<typename detail::unwrap_optional<M>::type>>
    constexpr auto output(std::string_view name, M Class::* member, C = {}) const {
        check_member<M, Class, C>();
        return with(detail::Column<Row, M, C, detail::output_part>{detail::checked_identifier(name), member});
    }
    /// Your own condition, pasted into the claim alone: rescue must still find a row that stopped matching.
    constexpr auto where(std::string_view sql) const {
        if (sql.empty()) throw std::invalid_argument("fila::table: .where is empty");
        return with(detail::Where{sql});
    }
    /// A column with one value in every statement, inserts too: several queues in one table.
    constexpr auto fixed(std::string_view name, std::string_view value) const {
        if (value.find('\0') != value.npos) throw std::invalid_argument("fila::table: NUL in a fixed value");
        if (!detail::is_utf8(value)) throw std::invalid_argument("fila::table: a fixed value is not UTF-8");
        return with(detail::Fixed{detail::checked_identifier(name), value});
    }
    /// The same for a literal.
    constexpr auto fixed(std::string_view name, char const* value) const {
        return fixed(name, std::string_view{value});
    }
    /// The same for a column of numbers.
    constexpr auto fixed(std::string_view name, std::integral auto value) const {
        return with(
            detail::Fixed{detail::checked_identifier(name), {}, static_cast<std::int64_t>(value), true});
    }

    // ---- optional columns, each an ability ------------------------------------------------------

    /// A time: until when a claimed row is ours. Leased, heartbeats, rescue. Wants a fence beside it.
    constexpr auto lease_until(std::string_view name) const {
        return control<column_role::lease_until>(name);
    }
    /// A time, written with every change: rescue by age. Where no fence is mapped its microseconds are the
    /// fence; there is no heartbeat then, so leases must be longer than any handler.
    constexpr auto updated_at(std::string_view name) const { return control<column_role::updated_at>(name); }
    /// An integer of 64 bits, one more at each claim: an old owner can never settle a row claimed anew.
    constexpr auto fence(std::string_view name) const { return control<column_role::fence>(name); }
    /// Text: who claimed the row, random for each store object. Part of the guard.
    constexpr auto owner(std::string_view name) const { return control<column_role::owner>(name); }
    /// An integer: failed attempts. Caps of retry policies.
    constexpr auto failures(std::string_view name) const { return control<column_role::failures>(name); }
    /// An integer: leases that ran out. The crash cap of Leased.
    constexpr auto crashes(std::string_view name) const { return control<column_role::crashes>(name); }
    /// A time: not claimed before. Backoff, snooze, scheduled rows.
    constexpr auto due_at(std::string_view name, Nulls nulls = Nulls::refused) const {
        return control<column_role::due_at>(name, nulls);
    }
    /// An integer: order before due time and key.
    constexpr auto priority(std::string_view name, Order order = Order::lowest_first,
                            Nulls nulls = Nulls::refused) const {
        return control<column_role::priority>(name, nulls, order);
    }
    /// Text: why the last attempt failed.
    constexpr auto last_error(std::string_view name) const { return control<column_role::last_error>(name); }

    // ---- how it lies in the database ------------------------------------------------------------

    /// For a table that is made for the queue. PostgreSQL keeps the keys of rows that wait, and of those that
    /// somebody has, in two narrow tables beside it, and writes a row itself when it is settled: half as many rows
    /// again a second, more where rows are wide. `lease_until` and `owner` lie there then. Status, due times and
    /// priorities may still be written by hand, and rows inserted and deleted: triggers follow. A row that somebody
    /// has keeps the word for pending. Wants `.lease_until`, `.fence` and `.owner`; takes no `.where`. Other
    /// databases keep one table.
    constexpr auto split() const { return with(detail::Split{}); }

    // ---- for stores -----------------------------------------------------------------------------

    /// As it was written: the schema may be empty.
    [[nodiscard]] constexpr TableName const& name() const noexcept { return name_; }
    /// The part with this role; a compile error if it is not mapped.
    template <class Role>
    [[nodiscard]] constexpr auto const& get() const noexcept {
        return std::get<index<Role>()>(parts_);
    }
    /// The key's column and member.
    [[nodiscard]] constexpr auto const& key_part() const noexcept { return get<detail::key_part>(); }
    /// The words of the status column.
    [[nodiscard]] constexpr StatusWords const& words() const noexcept {
        return get<detail::status_part>().words;
    }

    /// Calls `f(part)` for each part with this role, in the order of the mapping.
    template <class Role, class F>
    constexpr void each(F f) const {
        std::apply(
            [&](auto const&... part) {
                (
                    [&] {
                        if constexpr (std::same_as<typename std::remove_cvref_t<decltype(part)>::role, Role>)
                            f(part);
                    }(),
                    ...);
            },
            parts_);
    }
    /// Calls `f(part)` for each column that handlers see.
    template <class F>
    constexpr void each_column(F f) const {
        each<detail::column_part>(f);
    }
    /// Calls `f(part)` for each column that handlers write.
    template <class F>
    constexpr void each_output(F f) const {
        each<detail::output_part>(f);
    }
    /// Calls `f(part)` for each column with one value.
    template <class F>
    constexpr void each_fixed(F f) const {
        each<detail::fixed_part>(f);
    }
    /// Whether an insert takes the column from the row: not the key, nor a column that the library fills.
    [[nodiscard]] constexpr bool inserts(std::string_view column) const {
        bool ours = false;
        each_name_of_ours([&](std::string_view name) { ours = ours || name == column; });
        return !ours;
    }

private:
    template <class M, class Class, class C>
    static constexpr void check_member() {
        constexpr bool of_row = std::is_base_of_v<Class, Row>;
        static_assert(of_row, "fila::table<Row>: this member belongs to another class than Row");
        constexpr bool convertible = detail::CodecFor<C, M>;
        static_assert(convertible,
                      "fila::table: no codec for this member's type: specialise fila::codec<T> with static "
                      "`to` (giving "
                      "std::int64_t, double, bool, std::string, fila::Bytes, fila::Uuid or fila::Instant) "
                      "and `from`, or "
                      "pass a codec as the last argument");
    }
    /// Columns that the library itself writes: each may have one meaning only.
    template <class F>
    constexpr void each_name_of_ours(F f) const {
        std::apply(
            [&](auto const&... part) {
                (
                    [&] {
                        using Part = std::remove_cvref_t<decltype(part)>;
                        constexpr bool no_column = std::same_as<typename Part::role, detail::where_part> ||
                                                   std::same_as<typename Part::role, detail::split_part> ||
                                                   std::same_as<typename Part::role, detail::column_part> ||
                                                   std::same_as<typename Part::role, detail::output_part>;
                        if constexpr (!no_column) f(part.name);
                    }(),
                    ...);
            },
            parts_);
    }
    template <class Part>
    constexpr auto with(Part part) const {
        constexpr bool first = detail::repeatable_v<typename Part::role> || !has_role<typename Part::role>;
        static_assert(first, "fila::table: this is mapped twice; say it once");
        if constexpr (!std::same_as<Part, detail::Where> && !std::same_as<Part, detail::Split>) {
            if (std::same_as<typename Part::role, detail::column_part>) {
                each_column([&](auto const& other) {
                    if (other.name == part.name)
                        throw std::invalid_argument("fila::table: a column is mapped twice");
                });
            } else {
                if (!inserts(part.name)) throw std::invalid_argument("fila::table: a column has two roles");
                each_output([&](auto const& other) {
                    if (other.name == part.name)
                        throw std::invalid_argument("fila::table: a column has two roles");
                });
            }
        }
        return Table<Row, Parts..., Part>{name_, std::tuple_cat(parts_, std::tuple{part})};
    }
    template <class Role>
    constexpr auto control(std::string_view name, Nulls nulls = Nulls::refused,
                           Order order = Order::lowest_first) const {
        return with(detail::Control<Role>{detail::checked_identifier(name), nulls, order});
    }
    template <class Role>
    static consteval std::size_t index() {
        constexpr bool mapped = has_role<Role>;
        static_assert(mapped, "fila::table: this column is not mapped");
        std::size_t i = 0;
        (void)((std::same_as<typename Parts::role, Role> || (++i, false)) || ...);
        return i;
    }

    TableName name_;
    std::tuple<Parts...> parts_;
};

/// Starts a mapping of `Row` onto the table of that name.
template <class Row>
[[nodiscard]] constexpr Table<Row> table(TableName name) {
    constexpr bool fresh = std::default_initializable<Row> && std::movable<Row>;
    static_assert(
        fresh,
        "fila::table<Row>: Row must be default constructible and movable: it is filled column by column");
    return Table<Row>{name};
}

namespace detail {

template <class T>
using key_member_t = typename std::remove_cvref_t<decltype(std::declval<T const&>().key_part())>::member_type;

/// What a mapping can carry: the columns decide.
template <class T>
struct Abilities {
    static constexpr bool lease_column = T::template has<column_role::lease_until>;
    static constexpr bool age_column = T::template has<column_role::updated_at>;
    static constexpr bool fence_column = T::template has<column_role::fence>;
    static constexpr bool owner_column = T::template has<column_role::owner>;
    static constexpr bool fenced = fence_column || owner_column || age_column;
    static constexpr bool lease = (lease_column || age_column) && fenced;
    static constexpr bool heartbeat = lease_column && fenced;
    static constexpr bool delay = T::template has<column_role::due_at>;
    static constexpr bool failures = T::template has<column_role::failures>;
    static constexpr bool crashes = T::template has<column_role::crashes>;
    static constexpr bool priority = T::template has<column_role::priority>;
    static constexpr bool last_error = T::template has<column_role::last_error>;
};

}  // namespace detail
}  // namespace fila::inline v1
