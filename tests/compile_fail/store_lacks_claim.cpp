// expect: fila store: needs  fila::ClaimResult<cursor_type> claim(fila::ClaimRequest<cursor_type> const&
#include "parts.hpp"

struct Store : JobStore {
#ifdef FILA_EXPECT_ERROR
    int claim(request_type const&, batch_type&);
#endif
};

int main() {
    Store store;
    fila::Processor p{store, fila::InlineExecutor{}, work};
}
