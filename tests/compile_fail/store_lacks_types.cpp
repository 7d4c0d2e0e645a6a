// expect: fila store: needs  using row_type = …;  (movable)
// also: fila store: needs  using key_type = …;  (copyable, moved without throwing, comparable with ==)
// also: fila store: needs  using cursor_type = …;  (semiregular; cursor_type{} is the start)
#include "parts.hpp"

#ifdef FILA_EXPECT_ERROR
struct Pinned {
    Pinned(Pinned const&) = delete;
};
struct Store {
    using row_type = Pinned;
    using key_type = Pinned;
};
#else
using Store = JobStore;
#endif

static_assert(fila::detail::check_store<Store>());

int main() {}
