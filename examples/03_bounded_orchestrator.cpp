// SPDX-License-Identifier: MIT
// A bounded orchestrator: a producer puts batches into a channel of five places and waits while it is full;
// three workers import them. A batch of bad data goes to the dead letters, and the rest goes on.
#include <fila/channel/channel.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/observer/failure_stream.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/no_retry.hpp>
#include <fila/store/channel_store.hpp>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

struct Lote {
    int number = 0;
    std::vector<std::string> cells;
};

int main() {
    fila::Channel<Lote> lotes{5};
    fila::ChannelStore store{lotes};
    fila::FailureStream failures{100};

    std::thread producer{[&] {
        for (int n = 1; n <= 20; ++n)
            lotes.push(Lote{n, {std::to_string(n), n == 7 ? "seven" : "1000", "100000"}});
        lotes.close();
    }};
    std::thread errors{[&] {
        for (auto const& failure : failures.channel())
            std::cout << "error in batch " << failure.key << ": " << failure.what << '\n';
    }};

    std::atomic<int> imported = 0;
    auto const import = [&](Lote const& lote) {
        int sum = 0;
        for (auto const& cell : lote.cells)
            sum += std::stoi(cell);  // throws: the batch fails, the worker goes on
        imported += sum;
    };
    fila::Processor orchestrator{store, fila::ThreadPool{3}, import, fila::NoRetry{}, failures};
    auto const report = orchestrator.drain();  // until the channel is closed and everything is settled
    producer.join();
    failures.close();
    errors.join();

    auto const dead = store.dead_letters(10);
    for (auto const& letter : dead)
        std::cout << "dead: lote " << letter.row->number << ", " << letter.error << '\n';
    std::cout << report.completed << " batches imported, " << report.dead_lettered << " dead, sum "
              << imported << '\n';
    int const expected = 210 - 7 + 19 * 101'000;
    return report.completed == 19 && dead.size() == 1 && dead[0].row->number == 7 && imported == expected ? 0
                                                                                                          : 1;
}
