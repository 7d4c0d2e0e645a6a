// SPDX-License-Identifier: MIT
// Programs that are begun together and say how far they are: the other end is group.py.
//
// One prints "ready", begins at the first line of the standard input, prints what it has done so far whenever that
// grew, a number a line, and ends when the standard input does. For who produces, each line is how many he may have made
// in all.
#pragma once

#include "bench/bench_options.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

namespace fila_bench {

/// Says that we are ready, and gives the first line.
inline std::string wait_for_go() {
    std::cout << "ready" << std::endl;
    std::string line;
    if (!std::getline(std::cin, line)) throw std::runtime_error{"nobody said go"};
    return line;
}

/// Prints `done()` a hundred times a second, and at the end.
template <class Done>
class Progress {
public:
    explicit Progress(Done done)
        : done_{std::move(done)}, thread_{[this](std::stop_token const& stop) {
              for (std::size_t said = 0;;) {
                  bool const last = stop.stop_requested();
                  if (auto const now = done_(); now != said) std::cout << (said = now) << std::endl;
                  if (last) return;
                  std::this_thread::sleep_for(std::chrono::milliseconds{10});
              }
          }} {}

private:
    Done done_;
    std::jthread thread_;
};

/// Makes items in lots, as many as it is allowed, until the standard input ends.
template <class MakeLot>
void produce_in_lots(std::size_t lot, MakeLot make_lot) {
    std::atomic<std::size_t> allowed{std::stoul(wait_for_go())};
    std::atomic<bool> over{false};
    std::jthread const reader{[&] {
        for (std::string line; std::getline(std::cin, line); allowed.notify_one()) allowed = std::stoul(line);
        over = true;
        ++allowed;  // for who waits
        allowed.notify_one();
    }};
    for (std::size_t made = 0; !over;) {
        auto const now = allowed.load();
        if (made + lot > now) {
            allowed.wait(now);
            continue;
        }
        make_lot();
        std::cout << (made += lot) << std::endl;
    }
}

}  // namespace fila_bench
