// SPDX-License-Identifier: MIT
// RunLog: who checked which package when, across processes, so that a reader can tell whether two ever did at
// once.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

/// Each line is one append, so lines of several processes lie in the order in which they were written.
class RunLog {
public:
    /// An empty path: nothing is written.
    explicit RunLog(std::filesystem::path const& file) {
        if (file.empty()) return;
        fd_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd_ < 0) throw std::system_error{errno, std::generic_category(), "cannot write " + file.string()};
    }
    RunLog(RunLog const&) = delete;
    RunLog& operator=(RunLog const&) = delete;
    ~RunLog() {
        if (fd_ >= 0) ::close(fd_);
    }

    /// Writes "start", and "end" when it goes out of scope.
    class Entry {
    public:
        Entry(RunLog const& log, std::string package) : log_{log}, package_{std::move(package)} {
            log_.append("start", package_);
        }
        Entry(Entry const&) = delete;
        Entry& operator=(Entry const&) = delete;
        ~Entry() { log_.append("end", package_); }

    private:
        RunLog const& log_;
        std::string package_;
    };

private:
    void append(char const* event, std::string const& package) const noexcept {
        if (fd_ < 0) return;
        try {
            auto const line = std::string{event} + ' ' + std::to_string(::getpid()) + ' ' + package + '\n';
            if (::write(fd_, line.data(), line.size()) < 0) ::perror("verify_packages: run log");
        } catch (std::bad_alloc const&) {
            ::perror("verify_packages: run log");
        }
    }

    int fd_ = -1;
};
