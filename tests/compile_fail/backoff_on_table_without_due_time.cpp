// expect: fila: delays (backoff, snooze) need a due time: add .due_at("column") to the table
#include "parts.hpp"

struct Plain : JobStore {
    template <class Ability>
    static constexpr bool offers = !std::is_same_v<Ability, fila::ability::delay>;
};

int main() {
    Plain store;
#ifdef FILA_EXPECT_ERROR
    fila::Processor p{store, fila::InlineExecutor{}, work, fila::ExponentialBackoff{}};
#else
    fila::Processor p{store, fila::InlineExecutor{}, work};
#endif
}
