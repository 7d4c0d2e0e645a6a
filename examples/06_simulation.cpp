// SPDX-License-Identifier: MIT
// Is a handler fit to be run again? A thousand simulated worlds of dying machines and lost answers ask it, in a
// second: the careless one charges a card twice, the careful one keeps receipts.
#include <fila/store/memory_store.hpp>
#include <fila/testing/simulated_world.hpp>

#include <iostream>
#include <map>
#include <set>
#include <string>

using namespace std::chrono_literals;

struct Payment {
    int id = 0, card = 0, cents = 0;
};

/// The bank's side: what survives when a worker dies.
struct Bank {
    std::map<int, int> charged;
    std::set<int> receipts;

    void charge_carelessly(Payment const& p) { charged[p.card] += p.cents; }
    void charge_carefully(Payment const& p) {
        if (receipts.insert(p.id).second) charged[p.card] += p.cents;  // the receipt commits with the charge
    }
};

/// One world: empty, or what went wrong in it.
std::string simulate(std::uint64_t seed, void (Bank::*charge)(Payment const&)) {
    fila::ManualClock clock;
    fila::MemoryStore<Payment, fila::ManualClock> payments{clock};
    for (int id = 1; id <= 8; ++id) payments.enqueue({Payment{id, id % 3, 100}});

    Bank bank;
    fila::testing::SimulatedWorld world{seed, clock, payments, {.lease = 3s}};
    world.run([&](auto& store, auto& executor, auto const& machine_clock) {
        auto const pay = [&](Payment const& p) { (bank.*charge)(p); };
        return fila::Processor{store,
                               executor,
                               pay,
                               machine_clock,
                               fila::Leased{.lease = 3s, .max_crashes = 100},
                               fila::Pace{.interval = 1s}};
    });
    for (int card = 0; card < 3; ++card)
        if (bank.charged[card] != (card == 0 ? 200 : 300))
            world.bad("card " + std::to_string(card) + " was charged " + std::to_string(bank.charged[card]));
    return world.why();
}

/// The first seed that finds something, or 0.
std::uint64_t hunt(char const* name, void (Bank::*charge)(Payment const&)) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed)
        if (auto const why = simulate(seed, charge); !why.empty())
            return std::cout << name << ": seed " << seed << ": " << why << '\n', seed;
    std::cout << name << ": nothing found in 1000 worlds\n";
    return 0;
}

int main() {
    bool const found = hunt("careless", &Bank::charge_carelessly) != 0;
    return found && hunt("careful", &Bank::charge_carefully) == 0 ? 0 : 1;
}
