// SPDX-License-Identifier: MIT
// A prepared statement that is run once a row; an INSERT … VALUES (…) also for many rows at once.
//
// More than half of what an INSERT costs is the same for one row and for many: to open the table and its indexes, and
// to read and write the last key.
#pragma once

#include <fila/sqlite/sqlite_statement.hpp>
#include <fila/table/statement.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fila::inline v1::sqlite::detail {

/// Writes an INSERT of one row as one of many, its parameters numbered row by row, in each row as in the statement of
/// one.
///
/// OR FAIL, because SQLite copies every page that a statement of many rows changes if it is to undo that statement
/// alone, which can take longer than what is saved. Whoever runs it undoes all on an error. It also silences what the
/// table and its triggers say of conflicts (ON CONFLICT IGNORE), so after one the rows are to be inserted one by one.
class ManyRows {
public:
    /// `one` must outlive it.
    explicit ManyRows(Statement const& one) : one_{one}, text_{one.text} {
        if (!text_.starts_with(insert)) return;
        constexpr std::string_view values = "VALUES (";
        auto at = next(0, 'V');
        while (at < text_.size() && !text_.substr(at).starts_with(values)) at = next(at + 1, 'V');
        if (at < text_.size()) row_ = at + values.size() - 1;
    }

    /// Empty for any other statement, and for one that goes on behind the row.
    [[nodiscard]] std::string operator()(std::size_t n) const {
        if (row_ == 0) return {};
        std::string many{"INSERT OR FAIL INTO "};
        many += text_.substr(insert.size(), row_ - insert.size());
        for (std::size_t row = 0; row < n; ++row) {
            if (row > 0) many += ", ";
            if (!append(row * one_.parameters.size(), many)) return {};
        }
        return many;
    }

private:
    static constexpr std::string_view insert = "INSERT INTO ";

    /// The next `wanted` that is in no quotes, from one that is in none; the end if there is none.
    [[nodiscard]] std::size_t next(std::size_t i, char wanted) const {
        while (i < text_.size() && text_[i] != wanted) i = behind(i);
        return std::min(i, text_.size());
    }
    /// Behind the character at `i`, or behind all that it quotes. A doubled quote ends one text and begins another.
    [[nodiscard]] std::size_t behind(std::size_t i) const {
        if (text_[i] != '"' && text_[i] != '\'') return i + 1;
        auto const end = text_.find(text_[i], i + 1);
        return end == text_.npos ? text_.size() : end + 1;
    }
    [[nodiscard]] bool append(std::size_t parameters_before, std::string& many) const {
        int depth = 0;
        for (auto i = row_; i < text_.size();) {
            auto end = behind(i);
            if (text_[i] == ':') {
                end = std::min(text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", end),
                               text_.size());
                auto const& names = one_.parameters;
                auto const known = std::find(names.begin(), names.end(), text_.substr(i + 1, end - i - 1));
                if (known == names.end()) return false;
                auto const place = parameters_before + static_cast<std::size_t>(known - names.begin()) + 1;
                many += '?', many += std::to_string(place);
            } else {
                many += text_.substr(i, end - i);
            }
            if (text_[i] == '(') ++depth;
            if (text_[i] == ')' && --depth == 0) return end == text_.size();
            i = end;
        }
        return false;
    }

    Statement const& one_;
    std::string_view text_;
    std::size_t row_ = 0;
};

class Prepared {
public:
    /// `kept` for many uses: then it pays to prepare for more rows, which takes as long as to insert a hundred.
    Prepared(sqlite3* db, Statement const& statement, bool kept)
        : db_{db}, kept_{kept}, one_{prepare(db, statement.text, flags())} {}

    [[nodiscard]] sqlite3_stmt* get() const noexcept { return one_.get(); }

    /// Runs it once for each row from `first` on. `bind` is of `statement`, the one that was prepared.
    template <class F>
    void run_each(Binder const& bind, std::size_t first, std::size_t end, F& on_row) const {
        Running running{db_, one_.get()};
        for (auto i = first; i < end; ++i) {
            i == first ? bind(running, i) : bind.again(running, i);
            running.step_row(i, on_row);
        }
    }
    /// Inserts the first of `n` rows, many at once, and gives their number: 0 if that is not possible, or does not pay.
    /// It answers once for each row that it made, with no row's place. `start_again` undoes what was inserted, or says
    /// false; on any other error the caller does.
    template <class F, class Again>
    std::size_t run_many(Statement const& statement, Binder const& bind, std::size_t n, F& on_row,
                         Again start_again) {
        if (n < (kept_ ? most : worth_it) || !prepare_many(statement)) return 0;
        std::size_t done = 0;
        std::int64_t made = 0;
        try {
            for (; n - done >= at_once_; done += at_once_) {
                Running running{db_, many_.get()};
                for (std::size_t row = 0; row < at_once_; ++row)
                    bind(running, done + row, row * statement.parameters.size());
                running.step(on_row);
                made += sqlite3_changes(db_);
            }
        } catch (Error const& e) {
            if (!is_conflict(e) || !start_again()) throw;
            return 0;
        }
        for (std::int64_t i = 1; i <= made; ++i) on_row(Touched{i});
        return done;
    }

private:
    [[nodiscard]] unsigned flags() const noexcept { return kept_ ? SQLITE_PREPARE_PERSISTENT : 0; }

    /// False: this is not such a statement, or the limits of the user's connection do not allow one of many rows.
    bool prepare_many(Statement const& statement) {
        if (at_once_ != 0) return many_ != nullptr;
        auto const parameters = std::max<std::size_t>(1, statement.parameters.size());
        auto const limit = static_cast<std::size_t>(sqlite3_limit(db_, SQLITE_LIMIT_VARIABLE_NUMBER, -1));
        at_once_ = std::clamp<std::size_t>(limit / parameters, 1, kept_ ? most : most_once);
        auto const text = ManyRows{statement}(at_once_);
        if (text.empty() || at_once_ == 1) return false;
        sqlite3_stmt* many = nullptr;
        (void)sqlite3_prepare_v3(db_, text.data(), static_cast<int>(text.size()), flags(), &many, nullptr);
        many_.reset(many);
        return many != nullptr;
    }

    static constexpr std::size_t most = 50, most_once = 20, worth_it = 200;  // measured

    sqlite3* db_;
    bool kept_;
    StatementPtr one_, many_;
    std::size_t at_once_ = 0;  ///< 0: not known yet
};

}  // namespace fila::inline v1::sqlite::detail
