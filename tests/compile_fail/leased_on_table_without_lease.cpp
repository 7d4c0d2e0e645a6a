// expect: fila: Leased needs a lease in the table: add .lease_until("column") and .fence("column")
#include "parts.hpp"

struct Plain : JobStore {
    template <class Ability>
    static constexpr bool offers =
#ifdef FILA_EXPECT_ERROR
        !std::is_same_v<Ability, fila::ability::lease>;
#else
        true;
#endif
};

int main() {
    Plain store;
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::Leased{}};
}
