// SPDX-License-Identifier: MIT
// Values as PostgreSQL's text: what we send is read by the server's rules as what was meant, and whatever the server
// sends is read as a value or refused with a reason.
#include "fuzz/fuzzing.hpp"
#include <fila/postgres/postgres_field.hpp>
#include <fila/postgres/postgres_values.hpp>

#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace fila_fuzz;
using fila::Value;
namespace pg = fila::postgres::detail;

namespace {

/// One-dimensional array literals, by the manual's rules of input (section 8.15.6). Of white space, quotes, and
/// backslashes outside of quotes we write none: they are an error here.
std::vector<std::optional<std::string>> read_array(std::string_view literal) {
    expect(literal.size() >= 2 && literal.front() == '{' && literal.back() == '}', "braces around", literal);
    std::vector<std::optional<std::string>> elements;
    literal = literal.substr(1, literal.size() - 2);
    while (!literal.empty()) {
        if (!elements.empty()) {
            expect(literal.front() == ',', "a comma between elements", literal);
            literal.remove_prefix(1);
        }
        if (literal.starts_with("NULL")) {
            elements.emplace_back();
            literal.remove_prefix(4);
            continue;
        }
        expect(literal.starts_with('"'), "an element in quotes", literal);
        std::string element;
        std::size_t i = 1;
        for (; i < literal.size() && literal[i] != '"'; ++i) {
            if (literal[i] == '\\') ++i;
            expect(i < literal.size(), "something behind a backslash", literal);
            element += literal[i];
        }
        expect(i < literal.size(), "a closing quote", literal);
        elements.emplace_back(std::move(element));
        literal.remove_prefix(i + 1);
    }
    return elements;
}

Value any_value(Input& input) {
    switch (input.ConsumeIntegralInRange(0, 7)) {
        case 0:
            return {};
        case 1:
            return input.ConsumeIntegral<std::int64_t>();
        case 2:
            return std::bit_cast<double>(input.ConsumeIntegral<std::uint64_t>());
        case 3:
            return input.ConsumeBool();
        case 4: {
            auto const bytes = text(input);
            auto const* data = reinterpret_cast<std::byte const*>(bytes.data());
            return fila::Bytes(data, data + bytes.size());
        }
        case 5: {
            fila::Uuid uuid;
            input.ConsumeData(uuid.octets.data(), uuid.octets.size());
            return uuid;
        }
        case 6:
            return fila::Instant{std::chrono::microseconds{input.ConsumeIntegral<std::int64_t>()}};
        default:
            return text(input);
    }
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void reads_back(Value const& value, std::optional<std::string> const& sent) {
    std::visit(
        [&]<class V>(V const& v) {
            if constexpr (std::same_as<V, std::monostate>)
                expect(!sent, "NULL comes back as NULL");
            else if constexpr (std::same_as<V, double>)
                expect(sent && same(pg::from_text<double>(*sent), v), "a number comes back", *sent);
            else
                expect(sent && pg::from_text<V>(*sent) == v, "a value comes back", sent ? *sent : "NULL");
        },
        value);
}

bool has_nul(Value const& value) {
    auto const* string = std::get_if<std::string>(&value);
    return string != nullptr && string->find('\0') != std::string::npos;
}

void what_we_send(Input& input) {
    std::vector<Value> values;
    while (input.remaining_bytes() > 0 && values.size() < 16) values.push_back(any_value(input));
    try {
        auto const elements = read_array(pg::array(values));
        expect(elements.size() == values.size(), "as many elements as values");
        for (std::size_t i = 0; i < values.size(); ++i) {
            reads_back(values[i], elements[i]);
            reads_back(values[i], pg::parameter(values[i]));
        }
        expect(std::none_of(values.begin(), values.end(), has_nul), "a NUL in text is refused");
    } catch (fila::Error const& e) {
        expect(std::any_of(values.begin(), values.end(), has_nul), "only a NUL in text is refused", e.what());
        expect(!e.retryable() && !e.maybe_applied() && e.code() == "22021", "for good, and by its code",
               e.what());
    }
}

void what_is_sent_to_us(std::string_view sent) {
    accepted([&] {
        auto const i = pg::from_text<std::int64_t>(sent);
        expect(pg::from_text<std::int64_t>(*pg::parameter(i)) == i, "an integer that was read can be sent",
               sent);
        expect(pg::from_text<fila::Instant>(sent).time_since_epoch().count() == i,
               "an instant is an integer");
    });
    accepted([&] {
        auto const d = pg::from_text<double>(sent);
        expect(std::isfinite(d) || sent == "NaN" || sent == "Infinity" || sent == "-Infinity",
               "a number is finite, unless it says that it is not", sent);
        expect(same(pg::from_text<double>(*pg::parameter(d)), d), "a number that was read can be sent", sent);
        expect(sent.find_first_not_of("+-.0123456789eE") == sent.npos || !std::isfinite(d),
               "a number is a decimal", sent);
    });
    accepted([&] {
        auto const bytes = pg::from_text<fila::Bytes>(sent);
        auto const written = *pg::parameter(bytes);
        expect(std::equal(written.begin(), written.end(), sent.begin(), sent.end(),
                          [](char a, char b) { return a == (b >= 'A' && b <= 'F' ? b - 'A' + 'a' : b); }),
               "bytes that were read are written the same", sent);
    });
    accepted([&] {
        auto const uuid = pg::from_text<fila::Uuid>(sent);
        expect(pg::from_text<fila::Uuid>(uuid.str()) == uuid, "a uuid that was read can be sent", sent);
    });
    accepted([&] { expect(sent == (pg::from_text<bool>(sent) ? "t" : "f"), "a boolean is t or f", sent); });
    expect(pg::from_text<std::string>(sent) == sent, "text is text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input input{data, size};
    if (input.ConsumeBool())
        what_we_send(input);
    else
        what_is_sent_to_us(input.ConsumeRemainingBytesAsString());
    return 0;
}
