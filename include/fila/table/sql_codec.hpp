// SPDX-License-Identifier: MIT
// Between rows of a program and rows of a statement: what SqlStore and its transactions share.
#pragma once

#include <fila/detail/text.hpp>
#include <fila/store/store_concept.hpp>
#include <fila/table/render.hpp>
#include <fila/table/sql_cursor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fila::inline v1::detail {

/// Rounded up: a lease or a wait is never shorter than asked.
[[nodiscard]] constexpr std::int64_t to_micros(Duration d) noexcept {
    return std::chrono::ceil<std::chrono::microseconds>(std::max(d, Duration::zero())).count();
}
[[nodiscard]] constexpr std::int64_t to_limit(std::size_t n) noexcept {
    return std::in_range<std::int64_t>(n) ? static_cast<std::int64_t>(n)
                                          : std::numeric_limits<std::int64_t>::max();
}

/// How databases without a say in the matter compare: NULL, numbers, text, bytes. A template, for whoever has
/// nothing to sort: comparing variants takes long to compile.
struct ValueLess {
    [[nodiscard]] static int rank(Value const& v) noexcept {
        return v.index() == 0 ? 0 : v.index() <= 3 ? 1 : static_cast<int>(v.index());
    }
    [[nodiscard]] static double number(Value const& v) noexcept {
        if (auto const* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
        if (auto const* d = std::get_if<double>(&v)) return *d;
        return 0;
    }
    template <std::same_as<Value> V>
    [[nodiscard]] bool operator()(V const& a, V const& b) const noexcept {
        if (auto const *i = std::get_if<std::int64_t>(&a), *j = std::get_if<std::int64_t>(&b); i && j)
            return *i < *j;
        if (rank(a) != rank(b)) return rank(a) < rank(b);
        if (a.index() != b.index()) return number(a) < number(b);
        return a < b;
    }
};

template <class T>
class SqlCodec {
    using can = Abilities<T>;
    using key_part_type = std::remove_cvref_t<decltype(std::declval<T const&>().key_part())>;
    using key_codec = typename key_part_type::codec_type;
    static constexpr std::size_t first_term = 5;

public:
    using row_type = typename T::row_type;
    using key_type = key_member_t<T>;
    static constexpr std::size_t terms = 1 + (can::priority ? 1 : 0) + (can::delay ? 1 : 0);
    using cursor_type = SqlCursor<terms>;
    using batch_type = Batch<row_type, key_type>;
    using settlement_type = Settlement<row_type, key_type>;

    explicit SqlCodec(T const& table) : table_{table} {}

    [[nodiscard]] T const& table() const noexcept { return table_; }
    [[nodiscard]] static Value key_value(key_type const& key) { return encode<key_codec>(key); }

    // ---- from the database ----------------------------------------------------------------------

    /// A claimed or dead row. A value that does not fit fails its row and no other.
    struct Read {
        std::optional<key_type> key;  ///< empty: not even the key could be read
        std::int64_t fence = 0;
        History history;
        row_type row{};
        std::string why;  ///< what could not be decoded
        std::array<Value, terms> at{};
    };
    template <class Record>
    [[nodiscard]] Read read(Record const& record) const {
        Read r;
        auto const attempt = [&r](std::string_view name, auto decode_it) {
            try {
                decode_it();
            } catch (std::exception const& e) {
                if (!r.why.empty()) r.why += "; ";
                r.why += name, r.why += ": ", r.why += e.what();
            }
        };
        attempt(table_.key_part().name, [&] {
            key_type key{};
            decode<key_codec>(record[0], key);
            r.row.*table_.key_part().member = key;
            r.key = std::move(key);
        });
        attempt("the fence", [&] {
            if (auto const& field = record[1]; !field.null()) r.fence = field.template get<std::int64_t>();
        });
        r.history.failures = counter(record[2]);
        r.history.crashes = counter(record[3]);
        for (std::size_t i = 0; i < terms; ++i) r.at[i] = record[first_term + i].cursor_value();
        auto i = first_term + terms;
        table_.each_column([&](auto const& part) {
            attempt(part.name, [&] {
                using C = typename std::remove_cvref_t<decltype(part)>::codec_type;
                decode<C>(record[i], r.row.*part.member);
            });
            ++i;
        });
        return r;
    }
    /// The place of what stands behind the mapped columns.
    [[nodiscard]] std::size_t columns() const {
        std::size_t n = first_term + terms;
        table_.each_column([&](auto const&) { ++n; });
        return n;
    }

    void bind_cursor(cursor_type const& cursor, Bindings& bindings) const {
        if (!cursor.begun) return;
        std::size_t i = 0;
        bindings.emplace_back("start", cursor.start);
        if constexpr (can::priority) bindings.emplace_back("after_priority", cursor.at[i++]);
        if constexpr (can::delay) bindings.emplace_back("after_due", cursor.at[i++]);
        bindings.emplace_back("after_key", cursor.at[i]);
    }

    /// Runs a claim or a take on `c` and appends what came.
    template <bool sorted, class Connection>
    ClaimResult<cursor_type> fetch(Connection& c, Statement const& statement, Bindings bindings,
                                   ClaimRequest<cursor_type> const& request, batch_type& out) const {
        bindings.emplace_back("n", to_limit(request.limit));
        bind_cursor(request.after, bindings);
        std::vector<Read> rows;
        rows.reserve(std::min<std::size_t>(request.limit, 1000));
        std::int64_t start = 0;  // the same in each row
        c.run(statement, bindings, [&](auto const& record) {
            if (rows.empty()) start = record[4].template get<std::int64_t>();
            rows.push_back(read(record));
        });
        if constexpr (!sorted) {
            auto const before = [](Read const& a, Read const& b) {
                return std::lexicographical_compare(a.at.begin(), a.at.end(), b.at.begin(), b.at.end(),
                                                    ValueLess{});
            };
            // Rows are heavy to move, and come in order more often than not.
            if (!std::is_sorted(rows.begin(), rows.end(), before))
                std::sort(rows.begin(), rows.end(), before);
        }
        ClaimResult<cursor_type> result{request.after,
                                        rows.size() < request.limit ? Supply::dry : Supply::more};
        if (!rows.empty()) {
            auto& cursor = result.cursor;
            if (!cursor.begun) cursor.start = start;
            cursor.begun = true;
            cursor.at = rows.back().at;
        }
        for (auto& r : rows) {
            if (!r.key)
                continue;  // it stays claimed, and ends as a crash: without a key nothing can be said of it
            if (r.why.empty())
                out.add(std::move(*r.key), r.fence, r.history, std::move(r.row));
            else
                out.add_broken(std::move(*r.key), r.fence, r.history, std::move(r.why));
        }
        return result;
    }

    // ---- to the database ------------------------------------------------------------------------

    [[nodiscard]] Rows key_rows() const { return {{"k", "fence"}, std::vector<std::vector<Value>>(2)}; }
    static void add_key(Rows& rows, Ticket<key_type> const& ticket) {
        rows.columns[0].push_back(key_value(ticket.key));
        rows.columns[1].push_back(ticket.fence);
    }

    [[nodiscard]] Rows settle_rows() const {
        Rows rows{{"k", "fence", "word", "delay", "failure", "error"}, {}};
        std::size_t n = 0;
        table_.each_output([&](auto const&) {
            if (n == 0) rows.names.emplace_back("written");
            rows.names.push_back("r" + std::to_string(n++));
        });
        rows.columns.resize(rows.names.size());
        return rows;
    }
    /// The status that an outcome leads to; may be `erased`.
    [[nodiscard]] std::string_view word(Outcome const& outcome) const {
        auto const& words = table_.words();
        switch (outcome.kind()) {
            case Outcome::Kind::complete:
                return outcome.text().empty() ? words.completed : outcome.text();
            case Outcome::Kind::discard:
                return words.discarded;
            case Outcome::Kind::dead_letter:
                return words.dead;
            case Outcome::Kind::retry:
            case Outcome::Kind::snooze:
            case Outcome::Kind::release:
                break;
        }
        return words.pending;
    }
    /// Throws what a codec throws; `rows` is unchanged then.
    void add_settlement(Rows& rows, settlement_type const& s) const {
        auto const results = output_values(s.row);
        auto const kind = s.outcome.kind();
        bool const waits = kind == Outcome::Kind::retry || kind == Outcome::Kind::snooze;
        bool const reasoned = kind != Outcome::Kind::complete && !s.outcome.text().empty();
        add_key(rows, s.ticket);
        rows.columns[2].push_back(std::string{word(s.outcome)});
        // Strictly later than now, so that no pass meets a row twice.
        push_if(rows.columns[3], waits, std::max<std::int64_t>(1, to_micros(s.outcome.delay())));
        rows.columns[4].push_back(std::int64_t{s.outcome.failure()});
        push_if(rows.columns[5], reasoned, reasoned ? printable(s.outcome.text()) : std::string{});
        for (std::size_t i = 0; i < results.size(); ++i) rows.columns[6 + i].push_back(results[i]);
    }

    [[nodiscard]] Rows insert_rows() const {
        Rows rows{{"delay", "priority"}, {}};
        each_inserted(
            table_, [&](auto const&) { rows.names.push_back("c" + std::to_string(rows.names.size() - 2)); });
        rows.columns.resize(rows.names.size());
        return rows;
    }
    void add_insert(Rows& rows, row_type const& row, EnqueueOptions const& options) const {
        auto const delay = to_micros(options.delay);
        push_if(rows.columns[0], delay > 0, delay);
        rows.columns[1].push_back(options.priority);
        std::size_t i = 2;
        each_inserted(table_, [&](auto const& part) {
            rows.columns[i++].push_back(
                encode<typename std::remove_cvref_t<decltype(part)>::codec_type>(row.*part.member));
        });
    }

private:
    /// NULL otherwise. (A `?:` between two Values makes g++ 12 warn of one that it thinks uninitialized.)
    template <class X>
    static void push_if(std::vector<Value>& column, bool there, X value) {
        if (there)
            column.emplace_back(std::move(value));
        else
            column.emplace_back();
    }
    [[nodiscard]] std::vector<Value> output_values(row_type const* row) const {
        std::vector<Value> values;
        table_.each_output([&](auto const& part) {
            using C = typename std::remove_cvref_t<decltype(part)>::codec_type;
            if (values.empty()) values.emplace_back(row != nullptr);
            values.push_back(row != nullptr ? encode<C>(row->*part.member) : Value{});
        });
        return values;
    }
    /// A counter filled by others may be NULL, negative, or beyond us: none of it is a reason to stop.
    template <class Field>
    [[nodiscard]] static std::uint32_t counter(Field const& field) {
        if (field.null()) return 0;
        constexpr std::uint32_t most = 1'000'000'000;  // two of them and one more are still a number
        try {
            auto const n = field.template get<std::int64_t>();
            return n < 0 ? 0 : n > std::int64_t{most} ? most : static_cast<std::uint32_t>(n);
        } catch (std::exception const&) {
            return 0;
        }
    }

    T table_;
};

}  // namespace fila::inline v1::detail
