// SPDX-License-Identifier: MIT
#include "support/counting_new.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

std::size_t fila_tests::allocations_here() noexcept { return allocations; }

void* operator new(std::size_t n, std::nothrow_t const&) noexcept {
    ++allocations;
    return std::malloc(n ? n : 1);
}
void* operator new(std::size_t n) {
    if (void* p = operator new(n, std::nothrow)) return p;
    throw std::bad_alloc{};
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::nothrow_t const&) noexcept { std::free(p); }
