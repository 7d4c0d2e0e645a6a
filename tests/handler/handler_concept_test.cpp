// SPDX-License-Identifier: MIT
// Which callables are handlers, and what a context tells them.
#include "support/catch.hpp"
#include <fila/handler.hpp>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

struct Row {
    int number = 0;
};
using Rows = std::span<Row const>;
using Outcomes = std::vector<fila::Outcome>;

template <class H>
constexpr bool handles = fila::Handler<H, Row>;

static_assert(handles<void (*)(Row const&)>);
static_assert(handles<void (*)(Row&)>);
static_assert(handles<void (*)(Row)>);
static_assert(handles<fila::Outcome (*)(Row const&, fila::Context&)>);
static_assert(handles<fila::Outcome (*)(Row&, fila::Context const&)>);
static_assert(handles<void (*)(Rows)>);
static_assert(handles<Outcomes (*)(Rows)>);
static_assert(handles<Outcomes (*)(Rows, fila::BatchContext&)>);

static_assert(!handles<void (*)()>);
static_assert(!handles<void (*)(std::string const&)>);
static_assert(!handles<void (*)(Row&, int)>);
static_assert(!handles<void (*)(Row const&, fila::BatchContext&)>,
              "the context of a batch is not that of a row");
static_assert(!handles<void (*)(Rows, fila::Context&)>);
static_assert(!handles<void (*)(std::span<Row>)>, "rows of a batch are looked at, not changed");
static_assert(!handles<bool (*)(Row const&)>);
static_assert(!handles<int (*)(Row const&, fila::Context&)>);
static_assert(!handles<fila::Outcome (*)(Rows)>, "one outcome for many rows");
static_assert(!handles<std::vector<int> (*)(Rows)>);

struct MoveOnly {
    std::unique_ptr<int> state;
    void operator()(Row const&) {}
};
static_assert(handles<MoveOnly>);

struct ThrowsInTheEnd {
    ~ThrowsInTheEnd() noexcept(false) {}
    void operator()(Row const&) {}
};
static_assert(!handles<ThrowsInTheEnd> && handles<ThrowsInTheEnd&>, "of a reference nothing is destroyed");

/// Stops row 1 of three, and no other.
class StopsOne final : public fila::detail::RowSource {
public:
    fila::StopReason stop_reason(std::size_t row) const noexcept override {
        return row == 1 ? fila::StopReason::lease_lost : fila::StopReason::none;
    }
    std::stop_token stop_token(std::size_t row) override {
        asked_for = row;
        return source_.get_token();
    }
    std::size_t asked_for = 99;

private:
    std::stop_source source_;
};

}  // namespace

TEST_CASE("a context speaks of its own row") {
    StopsOne source;
    fila::TimePoint const deadline{std::chrono::seconds{5}};
    fila::Context const first{source, 0, {}, deadline};
    fila::Context const second{source, 1, {.failures = 2, .crashes = 3}, fila::TimePoint::max()};
    CHECK(first.attempt() == 1);
    CHECK(first.deadline() == deadline);
    CHECK_FALSE(first.stop_requested());
    CHECK(second.attempt() == 6);
    CHECK(second.history().crashes == 3);
    CHECK(second.stop_requested());
    CHECK(second.stop_reason() == fila::StopReason::lease_lost);
    CHECK(second.stop_token().stop_possible());
    CHECK(source.asked_for == 1);
}

TEST_CASE("a batch context answers for each of its rows, counted from its first") {
    StopsOne source;
    std::array const histories{fila::History{}, fila::History{.failures = 4}};
    fila::BatchContext const behind{source, 2, histories};
    CHECK(behind.size() == 2);
    CHECK_FALSE(behind.stop_requested());
    CHECK(behind.attempt(1) == 5);
    fila::BatchContext const around{source, 0, histories};
    CHECK(around.stop_requested());
    CHECK(around.stop_reason(0) == fila::StopReason::none);
    CHECK(around.stop_reason(1) == fila::StopReason::lease_lost);
}
