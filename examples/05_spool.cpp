// SPDX-License-Identifier: MIT
// A store of one's own, in use: letters put into a spool directory are sent by four workers. Kill it at any
// moment and start it again: the directory is all that it needs.
#include "05_spool_store.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>

#include <atomic>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

using namespace std::chrono_literals;

int main() {
    fs::remove_all("spool");
    SpoolStore spool{"spool"};
    for (int n = 1; n <= 10; ++n)  // any program, any shell puts letters in
        std::ofstream{fs::path{"spool/pending"} / ("letter" + std::to_string(n))}
            << (n == 4 ? "" : "Dear reader");

    std::atomic<int> sent = 0;
    auto const send = [&](fs::path const& letter) {
        std::string text;
        std::getline(std::ifstream{letter}, text);
        if (text.empty()) return fila::dead_letter("there is nothing in it");
        ++sent;
        return fila::complete();
    };
    fila::Processor postman{spool, fila::ThreadPool{4}, send, fila::Leased{.lease = 30s}};
    auto const report = postman.drain();

    auto const files_in = [](char const* room) {
        return std::distance(fs::directory_iterator{fs::path{"spool"} / room}, fs::directory_iterator{});
    };
    std::cout << sent << " letters sent, " << files_in("failed") << " put aside, "
              << files_in("pending") + files_in("work") << " left\n";
    return report.completed == 9 && sent == 9 && files_in("failed") == 1 &&
                   files_in("pending") + files_in("work") == 0
               ? 0
               : 1;
}
