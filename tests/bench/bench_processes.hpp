// SPDX-License-Identifier: MIT
// The same work in several processes at once, begun together.
#pragma once

#include "bench/bench_options.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fila_bench {

struct ProcessResult {
    std::size_t items = 0;
    double longest = 0;  ///< seconds, of whatever the work times
};

/// `work` is given a function that returns when all may begin. Gives the results and the seconds from then on until
/// the last has ended. One is run in this process.
template <class Work>
std::pair<std::vector<ProcessResult>, double> in_processes(std::size_t n, Work work) {
    if (n <= 1) {
        Steady::time_point start;
        auto const result = work([&] { start = Steady::now(); });
        return {{result}, seconds_since(start)};
    }
    std::array<int, 2> ready{}, go{}, done{};
    if (pipe(ready.data()) != 0 || pipe(go.data()) != 0 || pipe(done.data()) != 0)
        throw std::runtime_error{"no pipe"};
    for (std::size_t i = 0; i < n; ++i) {
        if (fork() != 0) continue;
        close(go[1]);  // or the end of the parent would not be seen
        int status = 1;
        try {
            auto const result = work([&] {
                char c = 0;
                bool const told = write(ready[1], &c, 1) == 1;
                close(ready[1]);  // so that the parent sees when another one cannot come up
                if (!told || read(go[0], &c, 1) != 1) _exit(1);
            });
            status = write(done[1], &result, sizeof result) == sizeof result ? 0 : 1;
        } catch (std::exception const& e) {
            std::cerr << e.what() << '\n';
        }
        _exit(status);
    }
    close(ready[1]);
    close(done[1]);
    char c = 0;
    for (std::size_t i = 0; i < n; ++i)
        if (read(ready[0], &c, 1) != 1) throw std::runtime_error{"a process did not come up"};
    auto const start = Steady::now();
    for (std::size_t i = 0; i < n; ++i)
        if (write(go[1], &c, 1) != 1) throw std::runtime_error{"a process cannot be told to begin"};
    std::vector<ProcessResult> results(n);
    for (auto& result : results)
        if (read(done[0], &result, sizeof result) != sizeof result)
            throw std::runtime_error{"a process failed"};
    auto const seconds = seconds_since(start);
    while (wait(nullptr) > 0) {}
    return {results, seconds};
}

}  // namespace fila_bench
