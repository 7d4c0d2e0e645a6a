// expect: fila: Leased needs a lease in the table: add .lease_until("column") and .fence("column")
// expect: fila: delays (backoff, snooze) need a due time: add .due_at("column") to the table
// expect: fila: a cap on attempts needs a counter: add .failures("column") to the table
// expect: fila: a cap on crashes needs a counter: add .crashes("column") to the table
// expect: fila: a heartbeat needs .lease_until("column") in the table
#include "parts.hpp"
#include <fila/retry.hpp>

template <class Missing>
struct Plain : JobStore {
    template <class Ability>
    static constexpr bool offers = !std::is_same_v<Ability, Missing>;
};

template <class Ability>
struct Careful : fila::NoRetry {
    using needs = fila::needs<Ability>;
};

int main() {
    Plain<fila::ability::lease> without_lease;
    Plain<fila::ability::delay> without_due_time;
    Plain<fila::ability::failures> without_counter;
    Plain<fila::ability::crashes> without_crashes;
    Plain<fila::ability::heartbeat> without_heartbeat;
#if FILA_EXPECT_ERROR == 1
    fila::Processor leased{without_lease, fila::InlineExecutor{}, work, fila::Leased{}};
#elif FILA_EXPECT_ERROR == 2
    fila::Processor delayed{without_due_time, fila::InlineExecutor{}, work, fila::ExponentialBackoff{}};
#elif FILA_EXPECT_ERROR == 3
    fila::Processor counted{without_counter, fila::InlineExecutor{}, work, fila::FixedDelay{}};
#elif FILA_EXPECT_ERROR == 4
    fila::Processor careful{without_crashes, fila::InlineExecutor{}, work, Careful<fila::ability::crashes>{}};
#elif FILA_EXPECT_ERROR == 5
    fila::Processor careful{without_heartbeat, fila::InlineExecutor{}, work,
                            Careful<fila::ability::heartbeat>{}};
#else
    fila::Processor delayed{without_due_time, fila::InlineExecutor{}, work, fila::NoRetry{}};
    fila::Processor counted{without_counter, fila::InlineExecutor{}, work, fila::NextPass{}};
    (void)without_lease, (void)without_crashes, (void)without_heartbeat;
#endif
}
