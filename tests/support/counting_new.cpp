// SPDX-License-Identifier: MIT
#include "support/counting_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t mine = 0;
std::atomic<std::size_t> everyones{0};

}  // namespace

std::size_t fila_tests::allocations_here() noexcept { return mine; }
std::size_t fila_tests::allocations() noexcept { return everyones.load(std::memory_order_relaxed); }

void* operator new(std::size_t n, std::nothrow_t const&) noexcept {
    ++mine;
    everyones.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(n ? n : 1);
}
void* operator new(std::size_t n) {
    if (void* p = operator new(n, std::nothrow)) return p;
    throw std::bad_alloc{};
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::nothrow_t const&) noexcept { std::free(p); }
