// SPDX-License-Identifier: MIT
// The SQL of every verb, word for word: what is sent to a database does not change by accident.
#include "support/catch.hpp"
#include "table/golden_split_statements.hpp"
#include "table/golden_statements.hpp"
#include "table/mappings.hpp"
#include <fila/table/postgres_dialect.hpp>
#include <fila/table/render.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

template <class T>
std::string all_of(T const& table, fila::Dialect const& dialect) {
    std::string text;
    fila::render(table, dialect).each([&](char const* name, fila::Statement const& statement) {
        text += std::string{"-- "} + name + "\n" + statement.text + ";\n";
    });
    return text;
}

/// A dialect without arrays, as plain as they come: adapters have their own, and test it.
fila::Dialect plain_dialect() {
    fila::Dialect d;
    d.name = "sqlite";
    d.time_type = "INTEGER";
    d.types = {"INTEGER", "REAL", "INTEGER", "TEXT", "BLOB", "TEXT", "INTEGER"};
    d.now = d.bound_now = d.pass_now = d.pass_micros = ":now";
    d.until = ":now + :lease", d.later = ":now + {o}delay", d.stale = ":now - :lease";
    d.pass_start = ":start", d.earliest = "0", d.after_due = ":after_due";
    d.among = "IN (#)", d.ordinal = ":i", d.text_order = " COLLATE BINARY";
    d.micros = d.instant = [](std::string const& column) { return column; };
    d.ticked = [](std::string const& column) { return "max(:now, " + column + " + 1)"; };
    return d;
}

}  // namespace

TEST_CASE("rendered for PostgreSQL: every optional column") {
    CHECK(all_of(imports, fila::postgres_dialect()) == golden::postgres_imports);
}
TEST_CASE("rendered for PostgreSQL: rescue by age") {
    CHECK(all_of(hooks, fila::postgres_dialect()) == golden::postgres_hooks);
}
TEST_CASE("rendered for PostgreSQL: a plain table") {
    CHECK(all_of(payments, fila::postgres_dialect()) == golden::postgres_payments);
}
TEST_CASE("rendered for PostgreSQL: the job table, which is split") {
    CHECK(all_of(split_jobs, fila::postgres_dialect()) == golden::postgres_split_jobs);
}
TEST_CASE("rendered for PostgreSQL: a split table with all that it may have") {
    CHECK(all_of(parcels, fila::postgres_dialect()) == golden::postgres_parcels);
}
TEST_CASE("what cannot be split is one table, and what makes no sense there is refused") {
    CHECK(all_of(split_jobs, plain_dialect()) == all_of(jobs, plain_dialect()));
    auto const refusal = [](auto const& table) -> std::string {
        try {
            (void)fila::render(table.split(), fila::postgres_dialect());
        } catch (std::invalid_argument const& e) {
            return e.what();
        }
        return {};
    };
    constexpr auto leased = fila::table<Payment>("payments")
                                .key("code", &Payment::code)
                                .status("status")
                                .lease_until("until")
                                .fence("fence")
                                .owner("owner");
    auto const in_order = [&](fila::Order order, fila::Nulls nulls) {
        return leased.priority("rank", order, nulls);
    };
    CHECK(refusal(leased) == "");
    CHECK(refusal(leased.due_at("due", fila::Nulls::due_now)).find("leave .due_at(…)'s second argument") !=
          std::string::npos);
    for (auto const& table : {in_order(fila::Order::highest_first, fila::Nulls::refused),
                              in_order(fila::Order::lowest_first, fila::Nulls::as_zero)})
        CHECK(refusal(table).find("the lowest priority first and has no NULL") != std::string::npos);
}
TEST_CASE("rendered once a row: every optional column") {
    CHECK(all_of(imports, plain_dialect()) == golden::plain_imports);
}
TEST_CASE("rendered once a row: a plain table") {
    CHECK(all_of(payments, plain_dialect()) == golden::plain_payments);
}
TEST_CASE("rendered once a row: dead rows are erased") {
    CHECK(all_of(fleeting, plain_dialect()) == golden::plain_fleeting);
}

TEST_CASE("case 2: rows are locked so that a child row's foreign key does not hide them") {
    fila::render(imports, fila::postgres_dialect())
        .each([](std::string const& name, fila::Statement const& s) {
            if (name.starts_with("claim") || name.starts_with("take") || name == "rescue") {
                CHECK(s.text.find("FOR NO KEY UPDATE SKIP LOCKED") != std::string::npos);
                CHECK(s.text.find("FOR UPDATE") == std::string::npos);
            }
        });
}

TEST_CASE("case 12: every statement names its schema, also where the mapping does not") {
    fila::render(hooks, fila::postgres_dialect()).each([](char const* name, fila::Statement const& s) {
        INFO(name);
        CHECK(s.text.find("\"public\".\"hooks\"") != std::string::npos);
    });
}

TEST_CASE("case 26: a lease is computed from the wall clock of the statement") {
    fila::render(imports, fila::postgres_dialect()).each([](char const* name, fila::Statement const& s) {
        INFO(name);
        CHECK(s.text.find("now()") == std::string::npos);
    });
}

TEST_CASE(
    "case 48: a constant column is in the predicate of every statement, and the user's condition in the "
    "claim alone") {
    for (auto const& dialect : {fila::postgres_dialect(), plain_dialect()})
        fila::render(imports, dialect).each([](std::string const& name, fila::Statement const& s) {
            INFO(name);
            if (name.ends_with("_index")) {
                CHECK(s.text.find("(\"queue\", \"shard\", ") != std::string::npos);
                return;
            }
            CHECK(s.text.find(name == "enqueue" ? "'o''mail', 3" : "\"queue\" = 'o''mail'") !=
                  std::string::npos);
            bool const claims =
                name.starts_with("claim") || name == "take" || name == "take_after" || name == "counts";
            CHECK((s.text.find("tenant = 7") != std::string::npos) == claims);
        });
}

TEST_CASE(
    "a statement that settles or extends compares fence, owner and state in the statement that writes") {
    auto const s = fila::render(imports, fila::postgres_dialect());
    for (auto const* statement : {&s.settle, &s.erase, &s.extend}) {
        CHECK(statement->text.find("t.\"status\" = ") != std::string::npos);
        CHECK(statement->text.find("'processing'") != std::string::npos);
        CHECK(statement->text.find("t.\"fence\" = o.fence") != std::string::npos);
        CHECK(statement->text.find("t.\"locked_by\" = $") != std::string::npos);
        CHECK(statement->text.find(" ORDER BY k) AS o") != std::string::npos);  // case 8: in key order
    }
    CHECK(s.settle_taken.text.find("'pending'") != std::string::npos);
    for (auto const* statement : {&s.settle_taken, &s.settle_or_raise, &s.erase_or_raise})
        CHECK(statement->text.find("current_setting('fila.taken', true) = $") !=
              std::string::npos);  // case 60
}

TEST_CASE("parameters are named in the order of their numbers, each once") {
    for (auto const& dialect : {fila::postgres_dialect(), plain_dialect()})
        fila::render(imports, dialect).each([&](char const* name, fila::Statement const& s) {
            INFO(name);
            auto sorted = s.parameters;
            std::sort(sorted.begin(), sorted.end());
            CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
            if (!dialect.arrays) return;
            for (std::size_t i = 1; i <= s.parameters.size(); ++i)
                CHECK(s.text.find("$" + std::to_string(i) + "::") != std::string::npos);
            CHECK(s.text.find("$" + std::to_string(s.parameters.size() + 1)) == std::string::npos);
        });
}

TEST_CASE("case 51: derived names are cut by us, at whole code points, and stay apart") {
    using fila::detail::derived_name;
    std::string const a(60, 'a'), b = std::string(59, 'a') + "b";
    CHECK(derived_name("short", "_fila_next") == "short_fila_next");
    CHECK(derived_name(a, "_fila_next").size() == 63);
    CHECK(derived_name(a, "_fila_next") != derived_name(b, "_fila_next"));
    std::string greek;
    for (int i = 0; i < 31; ++i) greek += "\u03b1";
    auto const cut = derived_name(greek, "_fila_next");
    CHECK(cut.size() <= 63);
    CHECK((static_cast<unsigned char>(cut[cut.find('_') - 1]) & 0xC0) == 0x80);  // the last byte of an alpha
    CHECK(cut.find('_') % 2 == 0);
}

TEST_CASE("case 51: names may hold what looks like a hole or a parameter of ours") {
    constexpr auto odd = fila::table<Payment>("od{d.:table")
                             .key(":n", &Payment::code)
                             .column("{key}", &Payment::cents)
                             .output("a{b", &Payment::cents)
                             .status(":k", {.pending = "{dead}", .processing = ":n", .dead = "}"})
                             .updated_at("{o}:lease")
                             .owner("?{where? x}")
                             .failures("{")
                             .priority(":after_key");
    for (auto const& dialect : {fila::postgres_dialect(), plain_dialect()}) {
        std::vector<std::vector<std::string>> parameters;
        fila::render(odd, dialect).each([&](char const*, fila::Statement const& s) {
            parameters.push_back(s.parameters);
        });
        std::size_t i = 0;
        constexpr auto plain = fila::table<Payment>("t")
                                   .key("k", &Payment::code)
                                   .column("c", &Payment::cents)
                                   .output("o", &Payment::cents)
                                   .status("s")
                                   .updated_at("u")
                                   .owner("w")
                                   .failures("f")
                                   .priority("p");
        fila::render(plain, dialect).each([&](char const* name, fila::Statement const& s) {
            INFO(name);
            REQUIRE(i < parameters.size());
            CHECK(parameters[i++] == s.parameters);
        });
    }
    auto const claim = fila::render(odd, fila::postgres_dialect()).claim.text;
    CHECK(claim.find(R"(RETURNING ":n", )") != std::string::npos);
    CHECK(claim.find(R"(":after_key" AS fila_1, ":n" AS fila_2, "{key}")") != std::string::npos);
}

TEST_CASE("case 102: no statement replaces a row") {
    for (auto const& dialect : {fila::postgres_dialect(), plain_dialect()})
        fila::render(imports, dialect).each([&](char const* name, fila::Statement const& s) {
            INFO(name);
            CHECK(s.text.find("REPLACE") == std::string::npos);
            CHECK(s.text.find("ON CONFLICT") == std::string::npos);
            // Rows are deleted where the mapping says that they are erased, and nowhere else.
            std::string_view const verb{name};
            bool const erases = verb.starts_with("erase") || verb == "rescue_erase";
            CHECK((s.text.find("DELETE") != std::string::npos) == erases);
        });
}
