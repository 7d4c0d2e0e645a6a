// SPDX-License-Identifier: MIT
// The whole library in two translation units of one program: nothing is defined twice, and both see the same.
#include "support/catch.hpp"
#include <fila/fila.hpp>
#include <fila/table.hpp>

std::size_t done_in_the_other_unit(std::size_t jobs);
fila::Outcome const& outcome_of_the_other_unit();

TEST_CASE("the library may be included in every unit of a program") {
    CHECK(done_in_the_other_unit(10) == 10);
    CHECK(outcome_of_the_other_unit().kind() == fila::Outcome::Kind::dead_letter);
    CHECK(fila::FixedDelay{.max_attempts = 1}.decide(fila::Failure{}).kind() ==
          fila::Outcome::Kind::dead_letter);
}
