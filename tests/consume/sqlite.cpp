// SPDX-License-Identifier: MIT
#include <fila/executor/inline_executor.hpp>
#include <fila/processor/processor.hpp>
#include <fila/sqlite/sqlite_store.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <cstdio>

struct Order {
    std::int64_t id = 0;
};

constexpr auto orders = fila::table<Order>("orders").key("id", &Order::id).status("status");

int main() {
    std::remove("orders.db");
    sqlite3* application = nullptr;
    sqlite3_open("orders.db", &application);
    sqlite3_exec(application,
                 "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT NOT NULL);"
                 "INSERT INTO orders VALUES (1, 'pending'), (2, 'pending'), (3, 'completed')",
                 nullptr, nullptr, nullptr);
    sqlite3_close(application);

    std::int64_t sum = 0;
    fila::sqlite::SqliteStore store{fila::sqlite::Config{"orders.db"}, orders};
    fila::Processor p{store, fila::InlineExecutor{}, [&](Order const& order) { sum += order.id; },
                      fila::InTransaction{}};
    auto const report = p.drain();
    return sum == 3 && report.completed == 2 ? 0 : 1;
}
