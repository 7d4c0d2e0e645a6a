// expect: fila: InTransaction needs a store with transactions
#include "parts.hpp"

int main() {
    JobStore store;
#ifdef FILA_EXPECT_ERROR
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::InTransaction{}};
#else
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::Leased{}};
#endif
}
