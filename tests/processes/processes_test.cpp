// SPDX-License-Identifier: MIT
// Several processes, each with several workers, on one table: every row runs once.
#include "support/child_process.hpp"
#include "processes/shared_jobs.hpp"
#include "support/catch.hpp"
#include "support/postgres_server.hpp"

#include <ranges>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

namespace {

constexpr int jobs = 20'000;

struct Scratch {
    std::filesystem::path dir = [] {
        std::string name = (std::filesystem::temp_directory_path() / "fila-processes-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::runtime_error{"no temporary directory"};
        return std::filesystem::path{name};
    }();
    ~Scratch() { std::filesystem::remove_all(dir); }
};

void enqueue(auto& store) {
    auto const rows = std::views::iota(0, jobs) | std::views::transform([](int i) {
                          return fila_test::Job{0, "job " + std::to_string(i)};
                      });
    REQUIRE(store.enqueue(rows) == jobs);
}

/// Starts the processes, waits for them, and counts the lines of the run log: runs, distinct rows, per
/// process.
void drain_by(std::size_t processes, std::string const& kind, std::string const& where,
              std::string const& workers) {
    Scratch scratch;
    auto const log = (scratch.dir / "runs").string();
    std::vector<fila_test::ChildProcess> children;
    for (std::size_t i = 0; i < processes; ++i)
        children.emplace_back(std::vector<std::string>{FILA_DRAIN_WORKER, kind, where, log, workers});
    std::size_t completed = 0;
    for (auto& child : children) {
        auto const ended = child.wait();
        INFO(ended.err);
        CHECK(ended.exit_code == 0);
        completed += std::stoul("0" + ended.out);
    }
    std::size_t runs = 0;
    std::set<std::int64_t> distinct;
    std::map<int, std::size_t> by_process;
    std::ifstream in{log};
    std::int64_t id = 0;
    for (int pid = 0; in >> id >> pid; ++runs) distinct.insert(id), ++by_process[pid];
    std::cout << kind << ": " << processes << " processes x " << workers << " workers: " << runs << " runs, "
              << distinct.size() << " distinct; by process:";
    for (auto const& [pid, n] : by_process) std::cout << ' ' << n;
    std::cout << '\n';
    CHECK(runs == jobs);
    CHECK(distinct.size() == jobs);
    CHECK(completed == jobs);
}

}  // namespace

TEST_CASE("case 4: four processes of eight workers drain one PostgreSQL table, each row once") {
    fila_test::Session session;
    session.exec("DROP SCHEMA IF EXISTS fila_processes CASCADE");
    session.exec("CREATE SCHEMA fila_processes");
    {
        auto store = fila_test::postgres_jobs(fila_test::conninfo());
        enqueue(store);
        drain_by(4, "postgres", fila_test::conninfo(), "8");
        CHECK(store.counts(10).open() == 0);
    }
    session.exec("DROP SCHEMA fila_processes CASCADE");
}

TEST_CASE("case 4: two processes drain one SQLite file, each row once") {
    Scratch scratch;
    auto const file = (scratch.dir / "jobs.db").string();
    auto store = fila_test::sqlite_jobs(file);
    enqueue(store);
    drain_by(2, "sqlite", file, "8");
    CHECK(store.counts(10).open() == 0);
}
