// expect: fila executor: needs  std::size_t concurrency() const
#include "parts.hpp"

struct Executor {
    void execute(fila::Task task) { task(); }
#ifndef FILA_EXPECT_ERROR
    std::size_t concurrency() const { return 1; }
#endif
};

int main() {
    JobStore store;
    fila::Processor p{store, Executor{}, work};
}
