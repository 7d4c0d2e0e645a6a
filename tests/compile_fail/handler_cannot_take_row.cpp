// expect: fila handler: cannot be called with the store's row
#include "parts.hpp"

#include <string>

int main() {
    JobStore store;
#ifdef FILA_EXPECT_ERROR
    fila::Processor p{store, fila::InlineExecutor{}, [](std::string const&) {}};
#else
    fila::Processor p{store, fila::InlineExecutor{}, [](Job&, fila::Context&) {}};
#endif
}
