// expect: fila executor: needs  void execute(fila::Task)
#include "parts.hpp"

struct Executor {
#ifndef FILA_EXPECT_ERROR
    void execute(fila::Task task) { task(); }
#endif
    std::size_t concurrency() const { return 1; }
};

int main() {
    JobStore store;
    fila::Processor p{store, Executor{}, work};
}
