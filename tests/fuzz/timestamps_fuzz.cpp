// SPDX-License-Identifier: MIT
// Instants in the text of PostgreSQL and in the three formats of SQLite's time columns: they come back, waits are never
// shorter than asked, and what others wrote there is read as a time or refused with a reason.
#include "fuzz/fuzzing.hpp"
#include <fila/postgres/postgres_field.hpp>
#include <fila/postgres/postgres_values.hpp>
#include <fila/sqlite/sqlite_dialect.hpp>
#include <fila/sqlite/sqlite_statement.hpp>
#include <fila/table/sql_codec.hpp>
#include <fila/table/sql_template.hpp>

#include <sqlite3.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace fila_fuzz;
using fila::Instant;
using fila::Value;

namespace {

namespace lite = fila::sqlite::detail;

sqlite3* database() {
    static sqlite3* const db = [] {
        sqlite3* opened = nullptr;
        expect(sqlite3_open(":memory:", &opened) == SQLITE_OK, "a database in memory opens");
        return opened;
    }();
    return db;
}

/// An expression of a dialect as a statement of one value.
class Expression {
public:
    Expression(fila::Dialect const& dialect, std::string const& expression) {
        fila::detail::SqlTemplate const fill{dialect};
        statement_ = fill("SELECT " + expression);
        prepared_.reset(lite::prepare(database(), statement_.text, SQLITE_PREPARE_PERSISTENT));
    }
    /// By the parameters' names; NULL for those without a value.
    template <class F>
    void evaluate(fila::Bindings const& values, F use) const {
        fila::Rows const no_rows;
        lite::Binder const bind{statement_, values, no_rows};
        lite::Running running{database(), prepared_.get()};
        bind(running, 0);
        auto read = [&](auto const& record) { use(record[0]); };
        running.step(read);
    }
    [[nodiscard]] Value operator()(fila::Bindings const& values) const {
        Value out;
        evaluate(values, [&](auto const& field) { out = field.cursor_value(); });
        return out;
    }

private:
    fila::Statement statement_;
    lite::StatementPtr prepared_;
};

struct Format {
    explicit Format(fila::sqlite::TimeFormat times, std::int64_t micros)
        : dialect{fila::sqlite::sqlite_dialect(times)}, unit{micros} {}

    fila::Dialect dialect;
    std::int64_t unit;  ///< the format's step, in microseconds
    Expression write{dialect, dialect.instant(":x")}, read{dialect, dialect.micros(":stored")},
        until{dialect, dialect.until}, later{dialect, dialect.later}, now{dialect, dialect.now},
        stale{dialect, dialect.stale}, ticked{dialect, dialect.ticked(":stored")};

    [[nodiscard]] std::optional<std::int64_t> micros(Value const& stored) const {
        std::optional<std::int64_t> out;
        read.evaluate({{"stored", stored}}, [&](auto const& field) {
            (void)accepted([&] {
                if (!field.null()) out = field.template get<Instant>().time_since_epoch().count();
            });
        });
        return out;
    }
};
std::array<Format, 3> const& formats() {
    using fila::sqlite::TimeFormat;
    static std::array<Format, 3> const all{Format{TimeFormat::unix_micros, 1},
                                           Format{TimeFormat::unix_seconds, 1'000'000},
                                           Format{TimeFormat::text, 1'000}};
    return all;
}
/// What SQLite's text can say: the years 0 to 9999.
constexpr std::int64_t text_begins = -62'167'219'200'000'000, text_ends = 253'402'300'800'000'000;

/// In columns of the user's: exact to the format's unit, and stable.
void instants(std::int64_t x) {
    Instant const instant{std::chrono::microseconds{x}};
    expect(fila::postgres::detail::from_text<Instant>(*fila::postgres::detail::parameter(instant)) == instant,
           "PostgreSQL: an instant comes back");
    for (auto const& format : formats()) {
        auto const stored = format.write({{"x", x}});
        auto const back = format.micros(stored);
        bool const sayable = format.unit != 1'000 || (x >= text_begins && x < text_ends);
        if (!sayable) {
            expect(!back, "NULL: that row fails, alone", std::to_string(x));
            continue;
        }
        expect(back.has_value(), "SQLite: an instant comes back", std::to_string(x));
        expect((*back < x ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(*back)
                          : static_cast<std::uint64_t>(*back) - static_cast<std::uint64_t>(x)) <
                   static_cast<std::uint64_t>(format.unit),
               "no further off than the format's unit",
               std::to_string(x) + " became " + std::to_string(*back));
        if (format.unit == 1) expect(*back == x, "microseconds are exact");
        expect(format.write({{"x", *back}}) == stored, "what was read is written the same");
    }
}

/// In our own columns: `now`, some hours to some centuries of wait.
void waits(std::int64_t now, std::int64_t wait) {
    for (auto const& format : formats()) {
        fila::Bindings const at{{"now", now}, {"lease", wait}, {"delay", wait}};
        auto const present = format.micros(format.now(at));
        auto const until = format.micros(format.until(at)), later = format.micros(format.later(at)),
                   stale = format.micros(format.stale(at));
        expect(present && until && later && stale, "every time is one");
        expect(*present <= now && *present > now - format.unit, "now is not in the future");
        expect(*until >= now + wait && *until < now + wait + format.unit + 1,
               "a lease is never shorter than asked",
               std::to_string(now) + " + " + std::to_string(wait) + " became " + std::to_string(*until));
        expect(*later >= now + wait, "a wait is never shorter than asked");
        if (wait > 0) expect(*later > *present, "what waits is later than now");
        // Before 1970 seconds are rounded the other way; no row was changed then.
        expect(*stale <= now - wait || wait > now, "nothing is stale too early");
        // Times are compared as they are stored: their order must be that of time.
        expect((*until < *present) == fila::detail::ValueLess{}(format.until(at), format.now(at)),
               "stored in order");
    }
}

/// Columns of SQLite hold anything.
void strangers(Input& input) {
    Value stored;
    switch (input.ConsumeIntegralInRange(0, 2)) {
        case 0:
            stored = input.ConsumeIntegral<std::int64_t>();
            break;
        case 1:
            stored = input.ConsumeFloatingPoint<double>();
            break;
        default:
            stored = text(input);
    }
    constexpr std::int64_t now = 1'700'000'000'123'456;
    for (auto const& format : formats()) {
        (void)format.micros(stored);
        auto const ticked = format.ticked({{"now", now}, {"stored", stored}});
        expect(ticked.index() != 0, "a time of change is written, whatever was there");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input input{data, size};
    switch (input.ConsumeIntegralInRange(0, 2)) {
        case 0:
            instants(input.ConsumeBool() ? input.ConsumeIntegral<std::int64_t>()
                                         : input.ConsumeIntegralInRange(text_begins, text_ends));
            break;
        case 1: {
            auto const now = input.ConsumeIntegralInRange<std::int64_t>(0, 7'000'000'000'000'000);
            waits(now, fila::detail::to_micros(fila::Duration{input.ConsumeIntegralInRange<std::int64_t>(
                           0, std::numeric_limits<std::int64_t>::max())}));
            break;
        }
        default:
            strangers(input);
    }
    return 0;
}
