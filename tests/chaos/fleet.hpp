// SPDX-License-Identifier: MIT
// Fleet: the worker processes of one test. A worker that ends without being told to fails the test.
#pragma once

#include "support/catch.hpp"
#include "support/child_process.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace fila_chaos {

using namespace std::chrono_literals;

/// What a worker said at its end: completed, lost, in_doubt, errors…
struct Totals {
    std::map<std::string, long> values;
    long operator[](std::string const& name) const {
        auto const found = values.find(name);
        return found == values.end() ? 0 : found->second;
    }
    void add(std::string const& line) {
        std::istringstream words{line};
        for (std::string word; words >> word;)
            if (auto const equals = word.find('='); equals != word.npos)
                values[word.substr(0, equals)] += std::stol(word.substr(equals + 1));
    }
};

class Fleet {
public:
    Fleet(std::size_t size, std::vector<std::string> options, std::filesystem::path const& directory)
        : options_{std::move(options)}, ready_{directory / "ready"} {
        std::filesystem::create_directory(ready_);
        options_.push_back("ready=" + ready_.string());
        for (std::size_t i = 0; i < size; ++i) start();
    }

    [[nodiscard]] std::size_t size() const { return workers_.size(); }
    [[nodiscard]] fila_test::ChildProcess& operator[](std::size_t i) { return workers_[i]; }
    void start() {
        std::vector<std::string> command{FILA_CHAOS_WORKER};
        command.insert(command.end(), options_.begin(), options_.end());
        // A SIGTERM that comes before main waits for it.
        sigset_t term, before;
        sigemptyset(&term), sigaddset(&term, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &term, &before);
        workers_.emplace_back(command);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    void start_with(std::vector<std::string> const& more) {
        auto const before = options_;
        options_.insert(options_.end(), more.begin(), more.end());
        start();
        options_ = before;
    }
    /// Whether all have opened their stores: a fault before that is their supervisor's business.
    [[nodiscard]] bool ready() const {
        return std::all_of(workers_.begin(), workers_.end(), [&](auto const& worker) {
            return std::filesystem::exists(ready_ / std::to_string(worker.pid()));
        });
    }
    /// Each worker must be alive: nobody ends by itself, whatever happens.
    void check() {
        for (auto& worker : workers_) {
            if (!worker.ended()) continue;
            auto const end = worker.wait();
            INFO("exit code " << end.exit_code << ", signal " << end.signal << "\n" << tail(end.err));
            FAIL("a worker ended by itself");
        }
    }
    std::size_t any() { return std::uniform_int_distribution<std::size_t>{0, size() - 1}(dice_); }
    /// SIGKILL, and another one in its place.
    void kill(std::size_t i) {
        check();
        workers_[i].signal(SIGKILL);
        REQUIRE(workers_[i].wait().signal == SIGKILL);
        remove(i);
        start();
    }
    /// SIGTERM, `more` of them in a row: it ends in order.
    void terminate(std::size_t i, int more = 0) {
        check();
        for (int sent = 0; sent <= more; ++sent) workers_[i].signal(SIGTERM);
        farewell(workers_[i]);
        remove(i);
    }
    /// All of them, together.
    Totals const& stop() {
        check();
        signal_all(SIGTERM);
        farewell();
        return totals_;
    }
    void signal_all(int number) {
        for (auto& worker : workers_) worker.signal(number);
    }
    /// They were told to end: waits until they have, in order.
    void farewell() {
        for (auto& worker : workers_) farewell(worker);
        workers_.clear();
    }
    /// For the report of a failure: kills all, and gives the ends of their logs.
    std::string last_words() {
        std::string words;
        for (auto& worker : workers_) {
            worker.signal(SIGKILL);
            words += "worker " + std::to_string(worker.pid()) + ":\n" + tail(worker.wait().err);
        }
        workers_.clear();
        return words;
    }
    /// What those that ended in order have logged.
    [[nodiscard]] std::string const& log() const { return log_; }
    [[nodiscard]] std::minstd_rand& dice() { return dice_; }
    std::chrono::milliseconds some_ms(int least, int most) {
        return std::chrono::milliseconds{std::uniform_int_distribution{least, most}(dice_)};
    }

private:
    static std::string tail(std::string const& text) {
        return text.size() > 2000 ? "…" + text.substr(text.size() - 2000) : text;
    }
    void farewell(fila_test::ChildProcess& worker) {
        auto const end = worker.wait();
        INFO("signal " << end.signal << "\n" << tail(end.err));
        REQUIRE(end.exit_code == 0);
        totals_.add(end.out);
        log_ += end.err;
    }
    void remove(std::size_t i) {
        // ChildProcess is not assignable: each has its end to wait for.
        std::vector<fila_test::ChildProcess> kept;
        for (std::size_t k = 0; k < workers_.size(); ++k)
            if (k != i) kept.push_back(std::move(workers_[k]));
        workers_.swap(kept);
    }

    std::vector<std::string> options_;
    std::filesystem::path ready_;
    std::vector<fila_test::ChildProcess> workers_;
    Totals totals_;
    std::string log_;
    std::minstd_rand dice_{std::random_device{}()};
};

}  // namespace fila_chaos
