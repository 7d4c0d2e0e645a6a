// SPDX-License-Identifier: MIT
// A mapping is a value, checked while compiling where it can be.
#include "support/catch.hpp"
#include "table/mappings.hpp"
#include <fila/table/codec.hpp>
#include <fila/table/sql_template.hpp>

#include <concepts>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

template <class T>
using can = fila::detail::Abilities<std::remove_cvref_t<T>>;

// What is mapped decides what can be done.
static_assert(can<decltype(imports)>::lease && can<decltype(imports)>::heartbeat &&
              can<decltype(imports)>::delay);
static_assert(can<decltype(imports)>::failures && can<decltype(imports)>::crashes &&
              can<decltype(imports)>::priority);
static_assert(can<decltype(hooks)>::lease && !can<decltype(hooks)>::heartbeat &&
              !can<decltype(hooks)>::delay);
static_assert(!can<decltype(payments)>::lease && !can<decltype(payments)>::failures);
static_assert(can<decltype(jobs)>::heartbeat && can<decltype(jobs)>::last_error);
constexpr auto lease_alone =
    fila::table<Payment>("t").key("code", &Payment::code).status("s").lease_until("l");
static_assert(!can<decltype(lease_alone)>::lease,
              "a lease without fence, owner or time of change is no lease");
static_assert(can<decltype(lease_alone.owner("o"))>::lease && can<decltype(lease_alone.fence("f"))>::lease);

static_assert(std::same_as<fila::detail::key_member_t<std::remove_const_t<decltype(hooks)>>, fila::Uuid>);
static_assert(imports.key_part().source == fila::KeySource::database);
static_assert(hooks.key_part().source == fila::KeySource::row);
static_assert(imports.name().schema == "etl" && imports.name().table == "import rows");
static_assert(fila::TableName{"s", "odd.name"}.table == "odd.name");
static_assert(fila::is_erased(imports.words().completed) && !fila::is_erased(imports.words().dead));
static_assert(!imports.inserts("id") && !imports.inserts("queue") && !imports.inserts("fence") &&
              imports.inserts("cells"));

struct Base {
    std::int64_t id = 0;
};
struct Derived : Base {
    std::string text;
};
// Members of a base class are members of the row.
constexpr auto derived =
    fila::table<Derived>("t").key("id", &Derived::id).column("text", &Derived::text).status("s");
static_assert(derived.has_key && derived.has_status && !derived.has_where);

// A temporary name would dangle.
static_assert(!std::constructible_from<fila::TableName, std::string>);

struct Cents {
    std::int64_t value = 0;
};
struct Field {
    std::optional<std::int64_t> value;
    bool null() const { return !value; }
    template <class W>
    W get() const {
        return *value;
    }
};

}  // namespace

template <>
struct fila::codec<Cents> {
    static std::int64_t to(Cents c) { return c.value; }
    static Cents from(std::int64_t v) {
        if (v < 0) throw std::range_error("negative amount");
        return {v};
    }
};
static_assert(fila::detail::CodecFor<fila::codec<Cents>, Cents>);
static_assert(fila::detail::CodecFor<fila::codec<Cents>, std::optional<Cents>>);

TEST_CASE("case 51: an identifier that a database would cut, fold or refuse is refused by the mapping") {
    std::string const longest(63, 'x'), too_long(64, 'x');
    auto const start = fila::table<Payment>("t");
    CHECK_NOTHROW(fila::TableName{std::string_view{longest}});
    CHECK_THROWS_AS(fila::TableName{std::string_view{too_long}}, std::invalid_argument);
    CHECK_THROWS_AS(fila::TableName{""}, std::invalid_argument);
    CHECK_THROWS_AS(fila::TableName{".t"}, std::invalid_argument);
    CHECK_THROWS_AS(fila::TableName{"s."}, std::invalid_argument);
    CHECK_THROWS_AS(start.key(too_long, &Payment::code), std::invalid_argument);
    CHECK_THROWS_AS(start.column(std::string_view{"a\0b", 3}, &Payment::cents), std::invalid_argument);
    CHECK_THROWS_AS(start.lease_until(""), std::invalid_argument);
    for (auto const* no_utf8 : {"caf\xe9", "\xc3", "\xed\xa0\x80"}) {
        INFO(no_utf8);
        CHECK_THROWS_AS(start.fence(no_utf8), std::invalid_argument);
        CHECK_THROWS_AS(fila::TableName{no_utf8}, std::invalid_argument);
        CHECK_THROWS_AS(start.fixed("queue", no_utf8), std::invalid_argument);
        CHECK_THROWS_AS(start.status("s", {.completed = no_utf8}), std::invalid_argument);
    }
    CHECK_NOTHROW(start.column("\"; DROP TABLE t; --", &Payment::cents));
}

TEST_CASE("a mapping refuses words and columns that contradict each other") {
    auto const start = fila::table<Payment>("t").key("code", &Payment::code);
    CHECK_THROWS_AS(start.status("s", {.pending = ""}), std::invalid_argument);
    CHECK_THROWS_AS(start.status("s", {.pending = "x", .processing = "x"}), std::invalid_argument);
    CHECK_THROWS_AS(start.status("s", {.completed = "pending"}), std::invalid_argument);
    CHECK_THROWS_AS(start.status("s", {.pending = fila::erased}), std::invalid_argument);
    CHECK_THROWS_AS(start.status("s", {.type = ""}), std::invalid_argument);
    CHECK_NOTHROW(start.status("s", {.completed = "over", .dead = "over", .discarded = "over"}));
    CHECK_THROWS_AS(start.status("code"), std::invalid_argument);
    CHECK_THROWS_AS(start.fence("f").owner("f"), std::invalid_argument);
    CHECK_THROWS_AS(start.column("c", &Payment::cents).column("c", &Payment::cents), std::invalid_argument);
    CHECK_THROWS_AS(start.output("c", &Payment::cents).fixed("c", 1), std::invalid_argument);
    CHECK_THROWS_AS(start.fixed("q", std::string_view{"a\0b", 3}), std::invalid_argument);
    CHECK_THROWS_AS(start.where(""), std::invalid_argument);
    // To read what the library writes is allowed.
    CHECK_NOTHROW(start.failures("failures").column("failures", &Payment::cents));
}

TEST_CASE(
    "codecs: integers are checked in both directions, optionals are NULL, users' types go through their "
    "own") {
    using fila::codec;
    CHECK(codec<std::int16_t>::from(-32768) == -32768);
    CHECK_THROWS_AS(codec<std::int16_t>::from(32768), std::out_of_range);
    CHECK_THROWS_AS(codec<std::uint8_t>::from(-1), std::out_of_range);
    CHECK_THROWS_AS(codec<std::uint64_t>::to(std::numeric_limits<std::uint64_t>::max()), std::out_of_range);
    enum class Color : std::uint8_t { red, green };
    CHECK(codec<Color>::from(1) == Color::green);
    CHECK_THROWS_AS(codec<Color>::from(256), std::out_of_range);

    CHECK(fila::detail::encode<codec<Cents>>(std::optional<Cents>{}) == fila::Value{});
    CHECK(fila::detail::encode<codec<Cents>>(std::optional<Cents>{Cents{5}}) == fila::Value{std::int64_t{5}});

    std::optional<Cents> maybe{Cents{1}};
    fila::detail::decode<codec<Cents>>(Field{{}}, maybe);
    CHECK(!maybe);
    Cents cents;
    fila::detail::decode<codec<Cents>>(Field{9}, cents);
    CHECK(cents.value == 9);
    CHECK_THROWS_AS(fila::detail::decode<codec<Cents>>(Field{{}}, cents), std::invalid_argument);
    CHECK_THROWS_AS(fila::detail::decode<codec<Cents>>(Field{-1}, cents), std::range_error);
}

TEST_CASE("uuids are read with or without hyphens, in either case, and written one way") {
    auto const uuid = fila::Uuid::parse("0123456789abcdefFEDCBA9876543210");
    CHECK(uuid.str() == "01234567-89ab-cdef-fedc-ba9876543210");
    CHECK(fila::Uuid::parse(uuid.str()) == uuid);
    CHECK_THROWS_AS(fila::Uuid::parse(""), std::invalid_argument);
    CHECK_THROWS_AS(fila::Uuid::parse(uuid.str() + "0"), std::invalid_argument);
    CHECK_THROWS_AS(fila::Uuid::parse("0123456789abcdefFEDCBA987654321g"), std::invalid_argument);
}

TEST_CASE("a template pastes users' text untouched and numbers its parameters by first mention") {
    fila::Dialect numbered, named;
    numbered.arrays = true;
    named.name = "named";
    for (auto const* dialect : {&numbered, &named}) {
        fila::detail::SqlTemplate fill{*dialect};
        fill.words["where"] = "a = '{x}' AND b = ':y'";
        fill.macros["bound"] = ":n + :m";
        fill.types["m"] = "text";
        auto const s =
            fill("{where} {bound} {o}v :n::int{where? yes}{!where? no}{named? named}{absent? never}");
        CHECK(s.text == (dialect->arrays
                             ? "a = '{x}' AND b = ':y' $1::bigint + $2::text o.v $1::bigint::int yes"
                             : "a = '{x}' AND b = ':y' :n + :m :v :n::int yes named"));
        CHECK(s.parameters == (dialect->arrays ? std::vector<std::string>{"n", "m"}
                                               : std::vector<std::string>{"n", "m", "v"}));
        CHECK_THROWS_AS(fill("{absent}"), std::logic_error);
        CHECK_THROWS_AS(fill("{open"), std::logic_error);
    }
}
