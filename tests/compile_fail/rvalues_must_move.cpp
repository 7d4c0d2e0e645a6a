// expect: fila store: this rvalue cannot be moved into the Processor: give the store a name, pass that
// expect: fila executor: this rvalue cannot be moved into the Processor: give the executor a name, pass that
// expect: fila handler: must be movable: the Processor keeps it
#include "parts.hpp"

struct Pinned {
    Pinned() = default;
    Pinned(Pinned const&) = delete;
};
struct PinnedStore : JobStore, Pinned {};
struct PinnedExecutor : fila::InlineExecutor, Pinned {};

struct Handler
#if FILA_EXPECT_ERROR == 3
    : Pinned
#endif
{
    void operator()(Job const&) {}
};

int main() {
    PinnedStore store;
    PinnedExecutor executor;
#if FILA_EXPECT_ERROR == 1
    fila::Processor p{PinnedStore{}, executor, Handler{}};
#elif FILA_EXPECT_ERROR == 2
    fila::Processor p{store, PinnedExecutor{}, Handler{}};
#else
    fila::Processor p{store, executor, Handler{}};
#endif
}
