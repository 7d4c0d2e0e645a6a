// expect: fila: MemoryStore keeps each row until it is settled and lends a copy of it to every attempt
#include "parts.hpp"

#include <memory>

#ifdef FILA_EXPECT_ERROR
using Row = std::unique_ptr<Job>;
#else
using Row = std::shared_ptr<Job>;
#endif

int main() {
    fila::MemoryStore<Row> store;
    return store.dead_letters(1).empty() ? 0 : 1;
}
