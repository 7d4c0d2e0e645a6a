// SPDX-License-Identifier: MIT
// AttemptLog: each run of a handler, written outside of the queue's transactions, so that it outlives
// rollbacks and kills.
#pragma once

#include <pqxx/pqxx>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fila_chaos {

/// Thread-safe. Who cannot write here cannot be trusted with a test: the process ends at once, and the test
/// fails.
class AttemptLog {
public:
    virtual ~AttemptLog() = default;

    /// Gives the run's name, unique among all processes.
    std::int64_t begin(std::int64_t key, std::uint32_t attempt) {
        std::lock_guard const lock{mutex_};
        auto const run = ++last_;
        guarded([&] { write_begin(run, key, attempt); });
        return run;
    }
    /// `told`: the handler was told that its row is somebody else's.
    void end(std::int64_t run, bool told) {
        std::lock_guard const lock{mutex_};
        guarded([&] { write_end(run, told); });
    }

private:
    virtual void write_begin(std::int64_t run, std::int64_t key, std::uint32_t attempt) = 0;
    virtual void write_end(std::int64_t run, bool told) = 0;

    template <class F>
    static void guarded(F write) {
        try {
            write();
        } catch (std::exception const& e) {
            std::fprintf(stderr, "the log of runs is broken: %s\n", e.what());
            ::_exit(4);
        }
    }

    std::mutex mutex_;
    std::int64_t last_ = std::int64_t{std::random_device{}() & 0x7fffffffU} << 24;
};

/// A file: one append a line, so that processes do not mix theirs. For tests that break the server itself.
class AttemptFile : public AttemptLog {
public:
    explicit AttemptFile(std::string const& path)
        : fd_{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)} {
        if (fd_ < 0) throw std::system_error{errno, std::generic_category(), path};
    }
    AttemptFile(AttemptFile const&) = delete;
    AttemptFile& operator=(AttemptFile const&) = delete;
    ~AttemptFile() override { ::close(fd_); }

private:
    void write_begin(std::int64_t run, std::int64_t key, std::uint32_t attempt) override {
        append("B " + std::to_string(run) + ' ' + std::to_string(key) + ' ' + std::to_string(attempt) + ' ' +
               std::to_string(::getpid()) + '\n');
    }
    void write_end(std::int64_t run, bool told) override {
        append("E " + std::to_string(run) + (told ? " 1\n" : " 0\n"));
    }
    void append(std::string const& line) const {
        if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            throw std::system_error{errno, std::generic_category(), "write"};
    }

    int fd_;
};

/// A table, over a connection of its own: each line is a transaction.
class AttemptTable : public AttemptLog {
public:
    AttemptTable(std::string const& conninfo, std::string table)
        : connection_{conninfo + " application_name=chaos_log"}, table_{std::move(table)} {}

private:
    void write_begin(std::int64_t run, std::int64_t key, std::uint32_t attempt) override {
        exec("INSERT INTO " + table_ + " (run, key, attempt, pid) VALUES (" + std::to_string(run) + ", " +
             std::to_string(key) + ", " + std::to_string(attempt) + ", " + std::to_string(::getpid()) + ")");
    }
    void write_end(std::int64_t run, bool told) override {
        exec("UPDATE " + table_ + " SET ended = clock_timestamp(), told = " + (told ? "true" : "false") +
             " WHERE run = " + std::to_string(run));
    }
    void exec(std::string const& sql) { pqxx::nontransaction{connection_}.exec(sql); }

    pqxx::connection connection_;
    std::string table_;
};

}  // namespace fila_chaos
