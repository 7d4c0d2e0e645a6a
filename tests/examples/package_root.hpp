// SPDX-License-Identifier: MIT
// PackageRoot: a private root directory with dpkg's records in it, to be altered at will.
#pragma once

#include "support/child_process.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace fila_test {

namespace fs = std::filesystem;

/// Removed, with all that is in it, at the end.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string name = (fs::temp_directory_path() / "fila-examples-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::system_error{errno, std::generic_category(), name};
        path_ = name;
    }
    TemporaryDirectory(TemporaryDirectory const&) = delete;
    TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] fs::path const& path() const noexcept { return path_; }

private:
    fs::path path_;
};

inline std::string read_file(fs::path const& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

inline void append(fs::path const& file, std::string_view text) {
    fs::create_directories(file.parent_path());
    std::ofstream out{file, std::ios::app};
    out << text;
    if (!out.flush()) throw std::runtime_error{"cannot write " + file.string()};
}

class PackageRoot {
public:
    PackageRoot() {
        append(info() / "format",
               "1\n");  // files of Multi-Arch: same packages are named package:architecture
        append(status(), "");
    }

    [[nodiscard]] fs::path path() const { return directory_.path() / "root"; }
    [[nodiscard]] fs::path admin() const { return path() / "var/lib/dpkg"; }
    [[nodiscard]] fs::path info() const { return admin() / "info"; }
    [[nodiscard]] fs::path status() const { return admin() / "status"; }
    /// Beside the root, for databases and logs.
    [[nodiscard]] fs::path beside(std::string const& name) const { return directory_.path() / name; }

    /// An installed package of this machine: its records, and each file that it lists. False if it is not
    /// here.
    bool copy_installed(std::string const& name) {
        auto const paragraph = run({"dpkg-query", "--status", name});
        if (paragraph.exit_code != 0) return false;
        append(status(), paragraph.out + '\n');
        auto const stem = installed_stem(name);
        for (auto const* kind : {".list", ".md5sums"})
            fs::copy_file(stem + kind, info() / (fs::path{stem}.filename().string() + kind));
        std::istringstream files{read_file(stem + ".list")};
        for (std::string line; std::getline(files, line);) copy_as_it_is(line);
        return true;
    }

    /// A package of one file, `path`, whose content is `text` followed by zeros up to `size`. The file takes
    /// no room on the disk for the zeros, but as long to hash as any other. Call `record_sums` after the
    /// last.
    void add_package(std::string const& name, std::string const& path, std::string const& text,
                     std::uintmax_t size = 0, std::string const& architecture = "all",
                     std::string const& more_fields = "") {
        append(status(), "Package: " + name +
                             "\nStatus: install ok installed\nPriority: optional\nSection: misc\n" +
                             "Maintainer: none <none@example.org>\nArchitecture: " + architecture +
                             "\nVersion: 1.0\n" + more_fields + "Description: made for a test\n\n");
        append(path_of(path), text);
        if (size > text.size()) fs::resize_file(path_of(path), size);
        auto const stem =
            info() /
            (more_fields.find("Multi-Arch: same") == std::string::npos ? name : name + ':' + architecture);
        append(stem.string() + ".list", "/.\n/" + path + '\n');
        made_.emplace_back(stem.string() + ".md5sums", path);
    }
    void record_sums() {
        std::vector<std::string> command{"md5sum"};
        for (auto const& [file, path] : made_) command.push_back(path_of(path).string());
        std::istringstream lines{run(command).out};
        for (auto const& [file, path] : made_) {
            std::string line;
            std::getline(lines, line);
            append(file, line.substr(0, 32) + "  " + path + '\n');
        }
        made_.clear();
    }

    [[nodiscard]] fs::path path_of(std::string const& relative) const { return path() / relative; }

private:
    static std::string installed_stem(std::string const& name) {
        for (auto const& entry : fs::directory_iterator{"/var/lib/dpkg/info"}) {
            auto const file = entry.path().filename().string();
            if (file == name + ".list" || (file.starts_with(name + ':') && file.ends_with(".list")))
                return entry.path().parent_path() / entry.path().stem();
        }
        throw std::runtime_error{"dpkg has no list of the files of " + name};
    }
    void copy_as_it_is(fs::path const& file) {
        fs::path done;
        for (auto const& part : file.relative_path()) {
            done /= part;
            auto const from = "/" / done, to = path() / done;
            if (fs::symlink_status(to).type() != fs::file_type::not_found) continue;
            if (fs::is_symlink(from)) {
                fs::copy_symlink(from, to);
                if (fs::is_directory(from)) copy_as_it_is(fs::canonical(from));
            } else if (fs::is_directory(from)) {
                fs::create_directory(to);
            } else if (fs::is_regular_file(from)) {
                fs::copy_file(from, to);
            }
        }
    }

    TemporaryDirectory directory_;
    std::vector<std::pair<std::string, std::string>> made_;
};

}  // namespace fila_test
