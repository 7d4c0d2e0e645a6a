// SPDX-License-Identifier: MIT
#include <fila/fila.hpp>
#include <fila/table.hpp>

#include <vector>

std::size_t done_in_the_other_unit(std::size_t jobs) {
    fila::Channel<std::size_t> channel{jobs};
    for (std::size_t i = 0; i < jobs; ++i) channel.push(i);
    std::vector<std::size_t> out;
    return channel.try_pop_batch(out, jobs);
}

fila::Outcome const& outcome_of_the_other_unit() {
    static fila::Outcome const outcome = fila::NoRetry{}.decide(fila::Failure{});
    return outcome;
}
