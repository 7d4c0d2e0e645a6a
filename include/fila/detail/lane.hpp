// SPDX-License-Identifier: MIT
// Lane: one activity of the engine, cut into steps. Who calls step() is not its business: a thread in a real
// run, a seeded picker in the simulation; the same objects in both.
#pragma once

#include <fila/detail/bell.hpp>

#include <cstdint>

namespace fila::inline v1 {

/// What a step answers.
struct Step {
    enum Kind : std::uint8_t { again, idle, done } kind;
    TimePoint until = TimePoint::max();  ///< of idle: call again then, or when the bell rings
};

namespace detail {

class Lane {
public:
    explicit Lane(char const* name) noexcept : name_{name} {}
    Lane(Lane const&) = delete;
    Lane& operator=(Lane const&) = delete;

    /// Does one thing: one decision under the lock, or one store verb, or one chunk of handlers. It may be
    /// called at any time, also for no reason.
    virtual Step step() noexcept = 0;

    /// There is something for it to do: its thread is woken, or the caller does it, where that takes less.
    virtual void rouse() noexcept { bell_->ring(); }

    [[nodiscard]] Bell& bell() noexcept { return *bell_; }
    /// Lanes that one thread steps by turns share its bell. Before anything runs.
    void share_bell(Lane& other) noexcept { bell_ = other.bell_; }
    [[nodiscard]] char const* name() const noexcept { return name_; }

protected:
    ~Lane() = default;

private:
    Bell own_;
    Bell* bell_ = &own_;
    char const* name_;
};

}  // namespace detail
}  // namespace fila::inline v1
