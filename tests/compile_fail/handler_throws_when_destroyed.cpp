// expect: fila handler: destroying it may throw, which would end the program
#include "parts.hpp"

struct Connection {
#ifdef FILA_EXPECT_ERROR
    ~Connection() noexcept(false) {}
#endif
};

int main() {
    JobStore store;
    fila::Processor p{store, fila::InlineExecutor{}, [c = Connection{}](Job const&) { (void)c; }};
}
