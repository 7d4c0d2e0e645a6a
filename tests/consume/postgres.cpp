// SPDX-License-Identifier: MIT
// Drains a table of the server that FILA_TEST_POSTGRES names. Without one, what can be seen is that it is missed.
#include <fila/executor/inline_executor.hpp>
#include <fila/postgres/postgres_store.hpp>
#include <fila/processor/processor.hpp>

#include <pqxx/pqxx>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

struct Order {
    std::int64_t id = 0;
};

constexpr auto orders = fila::table<Order>("consumer_orders").key("id", &Order::id).status("status");

int main() {
    char const* const server = std::getenv("FILA_TEST_POSTGRES");
    if (server == nullptr) {
        std::cout << "FILA_TEST_POSTGRES is not set: trying a server that is not there\n";
        try {
            fila::postgres::PostgresStore{{.conninfo = "host=/nowhere"}, orders};
        } catch (fila::Error const& error) {
            std::cout << error.what() << '\n';
            return error.retryable() ? 0 : 1;
        }
        return 1;
    }

    pqxx::connection application{server};
    {
        pqxx::work work{application};
        work.exec("DROP TABLE IF EXISTS consumer_orders");
        work.exec("CREATE TABLE consumer_orders (id bigint PRIMARY KEY, status text NOT NULL)");
        work.exec("INSERT INTO consumer_orders VALUES (1, 'pending'), (2, 'pending'), (3, 'completed')");
        work.commit();
    }
    std::int64_t sum = 0;
    fila::postgres::PostgresStore store{{.conninfo = server}, orders};
    fila::Processor p{store, fila::InlineExecutor{}, [&](Order const& order) { sum += order.id; },
                      fila::InTransaction{}};
    auto const report = p.drain();
    pqxx::work{application}.exec("DROP TABLE consumer_orders");
    return sum == 3 && report.completed == 2 ? 0 : 1;
}
