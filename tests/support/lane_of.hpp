// SPDX-License-Identifier: MIT
// LaneOf: any function as the work behind a Task, run once.
#pragma once

#include <fila/detail/lane.hpp>
#include <fila/executor/task.hpp>

#include <utility>

namespace fila_tests {

template <class F>
class LaneOf final : public fila::detail::Lane {
public:
    explicit LaneOf(F f) : Lane{"test"}, f_{std::move(f)} {}
    fila::Step step() noexcept override {
        f_();
        return {fila::Step::done};
    }
    [[nodiscard]] fila::Task task() { return fila::Task{*this}; }

private:
    F f_;
};

}  // namespace fila_tests
