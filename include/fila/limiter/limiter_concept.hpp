// SPDX-License-Identifier: MIT
// Limiter: how many rows may be ours at once, from before their claim until after their settle.
//
// | expression | returns | semantics |
// |---|---|---|
// | `l.acquire(n)` | `std::size_t` | grants 0 … n slots, never waits. Called before each claim |
// | `l.release(n)` | `void` | gives slots back: what a claim did not find, and what was settled. From any thread |
// | `l.capacity()` | `std::size_t` | optional: the most that can be granted; lets the processor check it against the store's connections |
//
// Handlers at once is the executor's number; rows in hand is the limiter's.
#pragma once

#include <fila/config.hpp>

#include <concepts>
#include <cstddef>

namespace fila::inline v1 {

struct limiter_role;

template <class L>
concept HasAcquire = requires(L& l, std::size_t n) {
    { l.acquire(n) } -> std::same_as<std::size_t>;
};
template <class L>
concept HasRelease = requires(L& l, std::size_t n) {
    { l.release(n) } -> std::same_as<void>;
};
template <class L>
concept Limiter = HasAcquire<L> && HasRelease<L>;

namespace detail {

template <class L>
consteval bool check_limiter() {
    static_assert(HasAcquire<L>, "fila limiter: needs  std::size_t acquire(std::size_t)");
    static_assert(HasRelease<L>, "fila limiter: needs  void release(std::size_t)");
    return true;
}

}  // namespace detail
}  // namespace fila::inline v1
