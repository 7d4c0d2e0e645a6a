// expect: fila store: needs  void settle(std::span<fila::Settlement<row_type, key_type> const>
#include "parts.hpp"

struct Store : JobStore {
#ifdef FILA_EXPECT_ERROR
    bool settle(settlements_type, std::span<fila::Ack>);
#endif
};

int main() {
    Store store;
    fila::Processor p{store, fila::InlineExecutor{}, work};
}
