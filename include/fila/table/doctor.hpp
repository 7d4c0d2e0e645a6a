// SPDX-License-Identifier: MIT
// Doctor: what store.doctor() finds in a queue that works, and is slow or leaves rows behind.
//
// It asks, in this order: verify()'s comparison, the driver (locks, vacuum, sessions, files: see the examiner
// of each adapter), whether indexes serve claim and rescue, and the rows below. Every probe of rows is
// bounded: at most a thousand entries of an index, or of the rows at either end of the key; with priorities,
// the 32 that are claimed first. So it takes milliseconds on a table of any size, and what lies in the middle
// of a table may escape it.
//
// | rows | why they matter |
// |---|---|
// | processing, the lease over for long | nobody rescues: no processor runs, or none with this mapping |
// | processing, without a lease | a program marks rows that our rescue then takes from it |
// | processing, a lease of a year | nobody will rescue them |
// | pending, due in a year or never | nobody will claim them; often a unit or time zone mixed up |
// | a status that is none of the words | nobody will ever look at them |
//
// Dead letters are not among them: they are an outcome; `counts()` has their number.
#pragma once

#include <fila/table/doctor_sql.hpp>
#include <fila/table/examination.hpp>
#include <fila/table/sql_core.hpp>
#include <fila/table/verify_beside.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1::detail {

template <class T, class D>
class Doctor {
    using can = Abilities<T>;
    using Connection = typename D::Connection;

public:
    Doctor(SqlCore<T, D> const& core, Connection& connection, DoctorLimits const& limits)
        : core_{core},
          table_{core.codec.table()},
          connection_{connection},
          limits_{limits},
          age_{core.lease.load()},
          sql_{table_, core.dialect, age_, to_micros(limits.ahead)},
          name_{sql_.word("table")},
          seen_{.table = table_.name(),
                .status = table_.template get<status_part>().name,
                .erases = is_erased(table_.words().completed) || is_erased(table_.words().dead) ||
                          is_erased(table_.words().discarded),
                .shared_table = sql_.word("fixed") != "",
                .runs = false,
                .statements = core.sql,
                .limits = limits} {}

    [[nodiscard]] std::vector<Finding> findings() {
        bool exists = false;
        seen_.look(connection_, "the catalogue",
                   [&] { seen_.findings = compare_all(table_, connection_, core_.dialect, &exists); });
        seen_.runs = exists && std::none_of(seen_.findings.begin(), seen_.findings.end(),
                                            [](auto const& f) { return f.fatal; });
        D::examine(connection_, seen_);
        if (exists && split_) examine_beside();
        if (!exists || seen_.locked) return std::move(seen_.findings);
        if (seen_.runs) unserved(connection_, core_.sql, seen_.findings);
        if constexpr (can::lease) processing();
        if constexpr (can::delay) pending();
        if (seen_.runs) words();
        return std::move(seen_.findings);
    }

private:
    static constexpr std::int64_t most = 1000;

    /// What waits dies most often. What is said of the server has been said.
    void examine_beside() {
        for (auto const* suffix : {"_ready", "_leases"}) {
            Beside const name{table_.name(), suffix, core_.dialect};
            Examination other{.table = {name.schema, name.table},
                              .status = seen_.status,
                              .erases = seen_.erases,
                              .shared_table = true,
                              .runs = false,
                              .statements = core_.sql,
                              .limits = limits_};
            D::examine(connection_, other);
            seen_.locked = seen_.locked || other.locked;
            for (auto& finding : other.findings)
                if (std::none_of(seen_.findings.begin(), seen_.findings.end(),
                                 [&](auto const& f) { return f.what == finding.what; }))
                    seen_.findings.push_back(std::move(finding));
        }
    }

    /// What a probe came upon: how many rows, and one of them.
    struct Rows {
        std::int64_t n = 0;
        std::string first;
        std::int64_t age = 0;
    };

    void processing() {
        auto const age = can::lease_column ? 0 : age_;
        find(
            sql_(sql::unrescued), {{"lease", saturated(age, to_micros(limits_.unrescued))}},
            [&](Rows const& r) {
                seen_.add(
                    many(r, held_) + " processing though the lease is over, for " + age_text(r.age - age) +
                        " at the longest: nobody rescues them" + eg(r),
                    (split_ ? std::string{"store.rescue({})"} : mend(sql::mend_unrescued)) +
                        "   -- a processor that runs does the like by itself: does one, with this mapping?");
            },
            true);
        if (!split_)
            find(sql_(sql::unleased), {}, [&](Rows const& r) {
                seen_.add(many(r) + " processing without a " + sql_.word("lease") +
                              ": a program that marks rows so has them rescued from under it" + eg(r),
                          mend(sql::mend_unleased) + "   -- and let whoever marks rows write a lease");
            });
        if constexpr (can::lease_column)
            find(sql_(sql::leased_ahead), {{"lease", to_micros(limits_.ahead)}}, [&](Rows const& r) {
                seen_.add(many(r, held_) + " processing with a lease that ends in more than " +
                              age_text(to_micros(limits_.ahead)) + ": they will not be rescued" + eg(r),
                          mend(sql::mend_leased_ahead) + "   -- the next rescue takes them then");
            });
    }
    void pending() {
        Rows ahead, never;
        bool const refused = table_.template get<column_role::due_at>().nulls == Nulls::refused;
        each_priority([&](Bindings const& bindings) {
            auto far = bindings;
            far.emplace_back("lease", to_micros(limits_.ahead));
            find(sql_(sql::due_ahead), far, [&](Rows const& r) { add(ahead, r); });
            if (refused && !split_)
                find(sql_(sql::due_never), bindings, [&](Rows const& r) { add(never, r); });
        });
        if (ahead.n > 0)
            seen_.add(many(ahead) + " pending and due in more than " + age_text(to_micros(limits_.ahead)) +
                          ": as good as never" + eg(ahead),
                      mend(sql::mend_due_ahead) +
                          "   -- or leave them, if they are meant so; else: is the unit of the column ours?");
        if (never.n > 0)
            seen_.add(many(never) + " pending with a NULL " + sql_.word("due_at") + ": nobody claims them" +
                          eg(never),
                      mend(sql::mend_due_never));
    }
    /// Once, or for each of the first priorities.
    template <class F>
    void each_priority(F f) {
        if constexpr (!can::priority) {
            f(Bindings{});
        } else {
            constexpr int priorities = 32;
            Value at;
            for (int i = 0; i < priorities; ++i) {
                auto const statement = i == 0 ? sql_(sql::priority) : sql_.with("after", sql::priority);
                bool found = false;
                ask(statement, {{"p", at}}, [&](auto const& record) {
                    found = !record[0].null();
                    if (found) at = record[0].template get<std::int64_t>();
                });
                if (!found) return;
                f(Bindings{{"p", at}});
            }
        }
    }
    void words() {
        std::map<std::string, std::int64_t> strange;
        std::set<std::string> keys;  // both ends of a small table are the same rows
        std::size_t looked_at = 0;
        auto const look = [&](auto const& record) {
            if (record[0].null() || !keys.insert(record[0].template get<std::string>()).second) return;
            if (record[2].template get<std::int64_t>() == 0) return;
            ++looked_at;
            auto word = record[1].null() ? null_word() : record[1].template get<std::string>();
            if (!known(word)) ++strange[std::move(word)];
        };
        for (auto const& statement : {sql_(sql::words), sql_.with("last", sql::words)}) {
            // SQLite calls a walk by rowid a scan; verify() has seen that the key is unique.
            if (core_.dialect.arrays && !connection_.served_by_index(statement)) continue;
            seen_.look(connection_, "the words in " + name_,
                       [&] { connection_.run(statement, {{"n", most}}, look); });
        }
        for (auto const& word : seen_.words)
            if (!known(word)) strange.try_emplace(word, 0);
        for (auto const& [word, n] : strange) {
            auto const source = n == 0 ? "by the statistics, rows of " + name_ + " have the status "
                                       : std::to_string(n) + " of " + std::to_string(looked_at) +
                                             " rows of " + name_ + " that were looked at have the status ";
            seen_.add(source + shown(word) + ", which is none of the mapping's words: nobody works on them",
                      right_word(word));
        }
    }
    /// Only where the intention is plain: a guess could run a payment twice.
    [[nodiscard]] std::string right_word(std::string const& word) const {
        auto const where = sql_.word("status") +
                           (word == null_word() ? " IS NULL" : " = " + quote_word(word)) + sql_.word("fixed");
        auto const analyze = core_.dialect.arrays ? "; ANALYZE " + name_ : std::string{};
        for (auto const candidate : mapped_words())
            if (bare(candidate) == bare(word))
                return "UPDATE " + name_ + " SET " + sql_.word("status") + " = " + quote_word(candidate) +
                       " WHERE " + where + analyze;
        return "SELECT * FROM " + name_ + " WHERE " + where + " LIMIT 10   -- give them the right status" +
               analyze + ", or say in DoctorLimits::known_words that others mean the word";
    }
    [[nodiscard]] static std::string bare(std::string_view word) {
        std::string out;
        for (char const c : word)
            if (std::isspace(static_cast<unsigned char>(c)) == 0)
                out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return out;
    }
    /// Not a text that a column could hold.
    [[nodiscard]] static std::string null_word() { return {"\0", 1}; }
    [[nodiscard]] static std::string shown(std::string const& word) {
        return word == null_word() ? "NULL" : quote_word(word);
    }
    [[nodiscard]] std::vector<std::string_view> mapped_words() const {
        auto const& w = table_.words();
        std::vector<std::string_view> mapped{w.pending, w.completed, w.dead, w.discarded};
        if (can::lease && !split_) mapped.push_back(w.processing);
        std::erase_if(mapped, [](std::string_view word) { return is_erased(word); });
        return mapped;
    }
    [[nodiscard]] bool known(std::string const& word) const {
        auto const mapped = mapped_words();
        return std::find(mapped.begin(), mapped.end(), word) != mapped.end() ||
               std::find(limits_.known_words.begin(), limits_.known_words.end(), word) !=
                   limits_.known_words.end();
    }

    /// Calls `report` if there are such rows.
    template <class F>
    void find(Statement const& statement, Bindings bindings, F report, bool timed = false) {
        Rows rows;
        bindings.emplace_back("n", most);
        ask(statement, bindings, [&](auto const& record) {
            if (rows.n++ > 0) return;
            rows.first = record[0].null() ? std::string{} : record[0].template get<std::string>();
            if (timed && !record[1].null())
                rows.age = difference(record[2].template get<std::int64_t>(),
                                      record[1].template get<std::int64_t>());
        });
        if (rows.n > 0) report(rows);
    }
    /// Nothing is asked that an index does not serve. Where the mapping does not fit, an error says nothing
    /// that verify() has not said.
    template <class F>
    void ask(Statement const& statement, Bindings const& bindings, F on_row) {
        if (stopped_ || !connection_.served_by_index(statement)) return;
        auto const before = seen_.findings.size();
        seen_.look(connection_, "rows of " + name_, [&] { connection_.run(statement, bindings, on_row); });
        stopped_ = seen_.findings.size() > before;
        if (stopped_ && !seen_.runs) seen_.findings.pop_back();
    }
    static void add(Rows& sum, Rows const& more) {
        if (sum.n == 0) sum.first = more.first;
        sum.n += more.n;
    }
    [[nodiscard]] std::string many(Rows const& r, char const* what = "rows") const {
        return std::to_string(r.n) + (r.n >= most ? " or more " : " ") + what + " of " + name_ + " are";
    }
    [[nodiscard]] static std::string eg(Rows const& r) {
        return r.first.empty() ? std::string{} : " (one has the key " + r.first + ")";
    }
    [[nodiscard]] std::string mend(std::string_view text) const { return sql_(text).text; }
    /// A lease may be minus infinity.
    [[nodiscard]] static std::int64_t difference(std::int64_t now, std::int64_t then) noexcept {
        return then < now - INT64_MAX ? INT64_MAX : now - then;
    }
    [[nodiscard]] static std::int64_t saturated(std::int64_t a, std::int64_t b) noexcept {
        return b > INT64_MAX - a ? INT64_MAX : a + b;
    }

    SqlCore<T, D> const& core_;
    T const& table_;
    Connection& connection_;
    DoctorLimits const& limits_;
    std::int64_t age_;
    DoctorSql<T> sql_;
    std::string name_;
    Examination seen_;
    bool split_ = T::is_split && core_.dialect.arrays;
    char const* held_ = split_ ? "leases" : "rows";
    bool stopped_ = false;  ///< what was refused, or waited too long, would be so again
};

}  // namespace fila::inline v1::detail
