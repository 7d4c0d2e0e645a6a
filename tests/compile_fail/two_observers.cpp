// expect: fila: two observers: give the Processor one, or a group of them
#include "parts.hpp"
#include <fila/observer.hpp>

int main() {
    JobStore store;
    fila::CountingObserver count;
    fila::FailureStream failures{8};
#ifdef FILA_EXPECT_ERROR
    fila::Processor p{store, fila::InlineExecutor{}, work, count, failures};
#else
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::observe(count, failures)};
#endif
}
