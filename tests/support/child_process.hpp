// SPDX-License-Identifier: MIT
// ChildProcess: a program under test, with its output caught and its end waited for within a budget.
#pragma once

#include <cerrno>
#include <chrono>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fila_test {

/// Asks `done` until it says yes; throws when the budget is spent. The pause between two questions only saves
/// processor time: what decides is what `done` sees.
template <class Done>
void wait_until(Done done, char const* what, std::chrono::seconds budget = std::chrono::seconds{60}) {
    auto const end = std::chrono::steady_clock::now() + budget;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{std::string{"waited too long for "} + what};
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

/// What a process left behind. `signal` is 0 if it ended by itself.
struct Ended {
    int exit_code = -1, signal = 0;
    std::string out, err;
};

/// Killed when it goes out of scope, or when the thread that started it ends. One thread uses it.
class ChildProcess {
public:
    explicit ChildProcess(std::vector<std::string> const& command)
        : out_{catch_output()}, err_{catch_output()} {
        std::vector<char*> argv;
        for (auto const& word : command) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ < 0) throw std::system_error{errno, std::generic_category(), "fork"};
        started_as_ = pid_;
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::dup2(out_, STDOUT_FILENO), ::dup2(err_, STDERR_FILENO);
            ::execvp(argv[0], argv.data());
            ::_exit(127);
        }
    }
    ChildProcess(ChildProcess&& o) noexcept
        : out_{std::exchange(o.out_, -1)},
          err_{std::exchange(o.err_, -1)},
          status_{o.status_},
          pid_{std::exchange(o.pid_, 0)},
          started_as_{o.started_as_} {}
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess() {
        if (pid_ > 0 && !ended()) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, &status_, 0);
        }
        if (out_ >= 0) ::close(out_), ::close(err_);
    }

    [[nodiscard]] pid_t pid() const noexcept { return started_as_; }
    void signal(int number) const {
        if (pid_ > 0) ::kill(pid_, number);
    }
    [[nodiscard]] bool ended() {
        if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = 0;
        return pid_ == 0;
    }
    Ended wait(std::chrono::seconds budget = std::chrono::seconds{60}) {
        wait_until([&] { return ended(); }, "the end of a process", budget);
        return {.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1,
                .signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0,
                .out = read_all(out_),
                .err = read_all(err_)};
    }

private:
    static int catch_output() {
        int const fd = ::memfd_create("output", MFD_CLOEXEC);
        if (fd < 0) throw std::system_error{errno, std::generic_category(), "memfd_create"};
        return fd;
    }
    static std::string read_all(int fd) {
        std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
        if (::pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            throw std::system_error{errno, std::generic_category(), "pread"};
        return text;
    }

    int out_, err_, status_ = 0;
    pid_t pid_ = 0, started_as_ = 0;  // pid_ is 0 once it has ended
};

inline Ended run(std::vector<std::string> const& command) { return ChildProcess{command}.wait(); }

}  // namespace fila_test
