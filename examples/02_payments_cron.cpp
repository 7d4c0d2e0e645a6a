// SPDX-License-Identifier: MIT
// A cron job: payments drained one by one, each in a transaction of its own. The table is the user's, the
// words in it too; a payment's entry in the ledger and its new status commit together, or neither does.
#include <fila/executor/inline_executor.hpp>
#include <fila/processor/processor.hpp>
#include <fila/sqlite/sqlite_store.hpp>

#include <sqlite3.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

struct Payment {
    std::int64_t id = 0;
    std::string account;
    std::int64_t cents = 0;
};

constexpr auto payments =
    fila::table<Payment>("payments")
        .key("id", &Payment::id)
        .column("account", &Payment::account)
        .column("cents", &Payment::cents)
        .status("status", {.pending = "pendente", .completed = "pago", .dead = "falhou"});

void execute(sqlite3* connection, std::string const& sql) {
    if (sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error{sqlite3_errmsg(connection)};
}

int main() {
    std::remove("payments.db");
    sqlite3* other = nullptr;  // the rest of the application
    sqlite3_open("payments.db", &other);
    execute(other,
            "CREATE TABLE payments (id INTEGER PRIMARY KEY, account TEXT, cents INTEGER, status TEXT);"
            "CREATE TABLE ledger (payment INTEGER, cents INTEGER);"
            "INSERT INTO payments VALUES (1, 'ana', 500, 'pendente'), (2, 'bruno', 700, 'pendente'),"
            "  (3, 'nobody', 1, 'pendente'), (4, 'offline', 300, 'pendente'), (5, 'carla', 900, 'pendente')");

    fila::sqlite::SqliteStore store{fila::sqlite::Config{"payments.db"}, payments};
    auto const pay = [](Payment const& payment, auto& context) -> fila::Outcome {
        if (payment.account == "nobody") return fila::dead_letter("no such account");
        execute(context.transaction(), "INSERT INTO ledger VALUES (" + std::to_string(payment.id) + ", " +
                                           std::to_string(payment.cents) + ")");
        if (payment.account == "offline")
            throw std::runtime_error{"the bank does not answer"};  // undoes the entry
        return fila::complete();
    };
    fila::Processor cron{store, fila::InlineExecutor{}, pay, fila::InTransaction{}};
    auto const report = cron.drain();
    std::cout << report.completed << " paid, " << report.dead_lettered << " failed, " << report.retried
              << " left for the next time\n";

    bool as_expected = false;
    sqlite3_exec(
        other, "SELECT group_concat(status) || ' ' || (SELECT sum(cents) FROM ledger) FROM payments",
        [](void* answer, int, char** values, char**) {
            std::cout << values[0] << '\n';
            *static_cast<bool*>(answer) = std::string{values[0]} == "pago,pago,falhou,pendente,pago 2100";
            return 0;
        },
        &as_expected, nullptr);
    sqlite3_close(other);
    return as_expected ? 0 : 1;
}
