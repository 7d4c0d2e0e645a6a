// expect: fila executor: needs  void execute(fila::Task)
// also: fila executor: needs  std::size_t concurrency() const
#include "parts.hpp"

struct Executor {
#ifdef FILA_EXPECT_ERROR
    void submit(fila::Task task) { task(); }
    int concurrency() const { return 1; }
#else
    void execute(fila::Task task) { task(); }
    std::size_t concurrency() const { return 1; }
#endif
};

int main() {
    JobStore store;
    fila::Processor p{store, Executor{}, work};
}
