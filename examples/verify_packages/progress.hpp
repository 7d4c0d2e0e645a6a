// SPDX-License-Identifier: MIT
// How far it is, on stderr: a bar that redraws itself on a terminal, a plain line now and then elsewhere.
#pragma once

#include <fila/observer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <unistd.h>

class ProgressLine {
public:
    explicit ProgressLine(std::size_t total) : total_{total} {}

    void operator()(fila::Progress const& p) const {
        auto const done = std::min(p.done + p.dead, total_);
        if (terminal_) {
            constexpr std::size_t width = 40;
            auto const filled = total_ == 0 ? width : width * done / total_;
            std::fprintf(stderr, "\r[%s%s] %zu of %zu, %.0f/s ", std::string(filled, '#').c_str(),
                         std::string(width - filled, '.').c_str(), done, total_, p.done_per_second());
        } else {
            std::fprintf(stderr, "checked %zu of %zu, %.0f/s\n", done, total_, p.done_per_second());
        }
    }
    void end() const {
        if (terminal_) std::fputc('\n', stderr);
    }
    [[nodiscard]] std::chrono::milliseconds interval() const {
        return terminal_ ? std::chrono::milliseconds{100} : std::chrono::milliseconds{2000};
    }

private:
    std::size_t total_;
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};
