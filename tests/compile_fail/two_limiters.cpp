// expect: fila: two limiters: give the Processor one
#include "parts.hpp"
#include <fila/limiter/fixed_limiter.hpp>

int main() {
    JobStore store;
#ifdef FILA_EXPECT_ERROR
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::FixedLimiter{8}, fila::Unlimited{}};
#else
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::FixedLimiter{8}};
#endif
}
