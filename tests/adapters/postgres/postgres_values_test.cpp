// SPDX-License-Identifier: MIT
// Values, conninfo and error policy: what needs no server.
#include "support/catch.hpp"
#include <fila/postgres/postgres_config.hpp>
#include <fila/postgres/postgres_errors.hpp>
#include <fila/postgres/postgres_field.hpp>
#include <fila/postgres/postgres_settings.hpp>
#include <fila/postgres/postgres_values.hpp>

#include <chrono>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
namespace pg = fila::postgres;
using fila::Value;

TEST_CASE("an array quotes every element and escapes what an array reader would eat") {
    std::vector<Value> const values{std::string{"a,b"},  std::string{"q\"x"}, std::string{"\\{}"}, Value{},
                                    std::string{"NULL"}, std::string{}};
    CHECK(pg::detail::array(values) == R"({"a,b","q\"x","\\{}",NULL,"NULL",""})");
    CHECK(pg::detail::array({}) == "{}");
}

TEST_CASE("scalars are written so that they come back the same") {
    CHECK(pg::detail::parameter(Value{std::numeric_limits<std::int64_t>::min()}) == "-9223372036854775808");
    CHECK(pg::detail::parameter(Value{0.1}) == "0.10000000000000001");
    CHECK(pg::detail::parameter(Value{std::numeric_limits<double>::infinity()}) == "Infinity");
    CHECK(pg::detail::parameter(Value{fila::Bytes{std::byte{0}, std::byte{0xff}}}) == "\\x00ff");
    CHECK(pg::detail::parameter(Value{fila::Bytes{}}) == "\\x");
    CHECK(pg::detail::parameter(Value{true}) == "t");
    CHECK_FALSE(pg::detail::parameter(Value{}).has_value());
}

TEST_CASE("a number is read only if it is a decimal that a double can hold") {
    auto const read = [](char const* text) { return pg::detail::from_text<double>(text); };
    CHECK(read("-1.5e300") == -1.5e300);
    CHECK(read("Infinity") == std::numeric_limits<double>::infinity());
    for (auto const* text :
         {"", " 1", "1 ", "0x10", "inf", "InfiniTy", "nan", "1e400", "-1e400", "1,5", "1.5.2"}) {
        INFO(text);
        CHECK_THROWS_AS(read(text), std::invalid_argument);
    }
}

TEST_CASE("a NUL in text is refused by name, never cut off silently") {
    auto const nul = Value{std::string{"a\0b", 3}};
    CHECK_THROWS_AS(pg::detail::parameter(nul), fila::Error);
    try {
        (void)pg::detail::array(std::vector{nul});
        FAIL("no error");
    } catch (fila::Error const& e) {
        CHECK(std::string{e.what()}.find("NUL at byte 1") != std::string::npos);
        CHECK_FALSE(e.retryable());
    }
}

TEST_CASE("a parameter takes its value by name: rows first, then bindings, else NULL") {
    fila::Statement const statement{"$1 $2 $3", {"k", "owner", "nobody"}};
    auto const p =
        pg::detail::parameters(statement, {{"owner", std::string{"me"}}, {"unused", std::int64_t{1}}},
                               {{"k"}, {{std::int64_t{1}, std::int64_t{2}}}});
    REQUIRE(p.size() == 3);
    CHECK(p[0] == R"({"1","2"})");
    CHECK(p[1] == "me");
    CHECK_FALSE(p[2].has_value());
}

TEST_CASE("case 66: keepalives and time-outs are set where the conninfo does not say them") {
    auto const plain = pg::detail::with_defaults("host=db keepalives_idle=5");
    CHECK(plain.find("connect_timeout=10") != std::string::npos);
    CHECK(plain.find("tcp_user_timeout=30000") != std::string::npos);
    CHECK(plain.find("keepalives_idle=30") < plain.find("keepalives_idle=5"));  // the later one holds
    CHECK(plain.rfind("client_encoding=UTF8") > plain.find("host=db"));
    auto const uri = pg::detail::with_defaults("postgresql://me:a?b@db/x?sslmode=require");
    CHECK(uri.starts_with("postgresql://me:a?b@db/x?connect_timeout=10&"));
    CHECK(uri.ends_with("&sslmode=require&client_encoding=UTF8"));
    CHECK(pg::detail::with_defaults("postgres://db").starts_with("postgres://db?connect_timeout"));
}

TEST_CASE("case 120: a configuration that makes no sense is refused, all faults at once, by name") {
    pg::Config const wrong{.conninfo = std::string{"a\0b", 3},
                           .connections = 0,
                           .statement_timeout = -1ms,
                           .lock_timeout = std::chrono::milliseconds::max(),
                           .network_timeout = -1ms,
                           .patience = -1ms};
    try {
        wrong.validate();
        FAIL("accepted");
    } catch (fila::ConfigError const& e) {
        for (auto const* field :
             {"conninfo", "connections", "statement_timeout", "lock_timeout", "network_timeout", "patience"})
            CHECK(std::string{e.what()}.find(field) != std::string::npos);
    }
    CHECK_NOTHROW(pg::Config{}.validate());
}

TEST_CASE("case 82: a pooled session has no setting that outlives a transaction") {
    pg::detail::SettingsSql const pooled{pg::Config{.session = pg::Session::pooled}, 170000};
    CHECK(pooled.connect.empty());
    CHECK(pooled.begin.starts_with("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL "));
    for (auto at = pooled.begin.find("SET "); at != std::string::npos; at = pooled.begin.find("SET ", at + 1))
        CHECK(pooled.begin.compare(at, 10, "SET LOCAL ") == 0);
}

namespace {

/// As the libpqxx at hand makes it: later ones know the SQLSTATE, 6 does not.
template <class Exception>
Exception made(char const* sqlstate) {
    if constexpr (std::constructible_from<Exception, std::string, std::string, char const*>)
        return Exception{"ERROR:  x", "", sqlstate};
    else
        return Exception{"ERROR:  x"};
}

template <class Exception>
pg::Failure failure_of(Exception const& e, pg::Doing doing = pg::Doing::statement) {
    try {
        throw e;
    } catch (...) {
        return pg::current_failure(doing);
    }
}

}  // namespace

TEST_CASE("what may be tried again, by SQLSTATE") {
    for (auto const* code : {"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "53300", "53200",
                             "25006", "08006", "25P03"}) {
        INFO(code);
        CHECK(failure_of(pqxx::sql_error{"ERROR:  x\n", "", code}).error.retryable());
        CHECK(failure_of(pqxx::sql_error{"ERROR:  x\n", "", code}).error.code() == code);
    }
    for (auto const* code : {"23505", "42P01", "42501", "22P02", "22021", "42601", "25P02"}) {
        INFO(code);
        auto const f = failure_of(pqxx::sql_error{"ERROR:  x\n", "", code});
        CHECK_FALSE(f.error.retryable());
        CHECK_FALSE(f.error.maybe_applied());
        CHECK_FALSE(f.connection_lost);
    }
    CHECK(failure_of(pqxx::sql_error{"x", "", "25006"}).connection_lost);
    CHECK_FALSE(failure_of(pqxx::sql_error{"x", "", "40001"}).connection_lost);
}

TEST_CASE("case 29: what was cut off under COMMIT or under a statement of its own may have been applied") {
    pqxx::broken_connection const gone{"server closed the connection"};
    CHECK(failure_of(gone, pg::Doing::statement).error.maybe_applied());
    CHECK(failure_of(gone, pg::Doing::committing).error.maybe_applied());
    CHECK_FALSE(failure_of(gone, pg::Doing::in_transaction).error.maybe_applied());
    CHECK_FALSE(failure_of(gone, pg::Doing::connecting).error.maybe_applied());
    for (auto doing :
         {pg::Doing::statement, pg::Doing::committing, pg::Doing::in_transaction, pg::Doing::connecting}) {
        CHECK(failure_of(gone, doing).connection_lost);
        CHECK(failure_of(gone, doing).error.retryable());
    }
    auto const doubt = failure_of(pqxx::in_doubt_error{"?"}, pg::Doing::in_transaction);
    CHECK((doubt.error.maybe_applied() && doubt.error.retryable() && doubt.connection_lost));
}

TEST_CASE("what libpqxx 6 throws without a SQLSTATE has one all the same") {
    CHECK(failure_of(made<pqxx::deadlock_detected>("40P01")).error.code() == "40P01");
    CHECK(failure_of(made<pqxx::serialization_failure>("40001")).error.code() == "40001");
    auto const odd = failure_of(std::runtime_error{"odd"});
    CHECK((!odd.error.retryable() && odd.connection_lost));
}
