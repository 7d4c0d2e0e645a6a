// expect: fila: a cap on attempts needs a counter: add .failures("column") to the table
#include "parts.hpp"
#include <fila/retry.hpp>

struct Plain : JobStore {
    template <class Ability>
    static constexpr bool offers = !std::is_same_v<Ability, fila::ability::failures>;
};

int main() {
    Plain store;
#ifdef FILA_EXPECT_ERROR
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::FixedDelay{}};
#else
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::NextPass{}};
#endif
}
