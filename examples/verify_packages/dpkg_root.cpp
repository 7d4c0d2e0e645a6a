// SPDX-License-Identifier: MIT
// Reads var/lib/dpkg: status, info/*.md5sums, info/*.list, diversions; and the path rules of etc/dpkg.
#include "dpkg_root.hpp"

#include <algorithm>
#include <cerrno>
#include <fnmatch.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <tuple>

namespace dpkg {

namespace fs = std::filesystem;

namespace {

std::ifstream open(fs::path const& file) {
    std::ifstream in{file};
    if (!in)
        throw std::runtime_error{"cannot read " + file.string() + ": " +
                                 std::generic_category().message(errno)};
    return in;
}

std::string_view trim(std::string_view text) {
    auto const first = text.find_first_not_of(" \t\r");
    return first == text.npos ? std::string_view{}
                              : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view without_leading(std::string_view path, std::string_view prefix) {
    return path.starts_with(prefix) ? path.substr(prefix.size()) : path;
}

/// One paragraph of a control file; the lines of a multi-line field are kept apart by newlines.
std::map<std::string, std::string> read_paragraph(std::istream& in) {
    std::map<std::string, std::string> fields;
    std::string line, field;
    while (std::getline(in, line) && !line.empty()) {
        if (line.front() == ' ' || line.front() == '\t') {
            fields[field].append("\n").append(trim(line));
        } else if (auto const colon = line.find(':'); colon != line.npos) {
            field = line.substr(0, colon);
            fields[field] = trim(std::string_view{line}.substr(colon + 1));
        }
    }
    return fields;
}

std::set<std::string> read_conffiles(std::string const& field) {
    std::set<std::string> result;
    std::istringstream lines{field};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        std::string path, md5, flag;
        words >> path >> md5 >> flag;
        if (!path.empty() && flag != "remove-on-upgrade") result.emplace(without_leading(path, "/"));
    }
    return result;
}

bool is_md5(std::string_view text) {
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

auto identity(InstalledPackage const& p) { return std::tie(p.name, p.architecture); }

}  // namespace

DpkgRoot::DpkgRoot(fs::path root) : root_{std::move(root)}, admin_{root_ / "var/lib/dpkg"} {
    read_status();
    read_diversions();
    read_path_rules();
}

void DpkgRoot::read_status() {
    auto in = open(admin_ / "status");
    while (in.peek() != std::ifstream::traits_type::eof()) {
        auto fields = read_paragraph(in);
        std::string const& status = fields["Status"];
        if (!status.ends_with(" installed") && !status.ends_with(" half-configured")) continue;
        InstalledPackage package{.name = fields["Package"],
                                 .version = fields["Version"],
                                 .architecture = fields["Architecture"],
                                 .info_stem = fields["Package"],
                                 .conffiles = read_conffiles(fields["Conffiles"])};
        if (fields["Multi-Arch"] == "same") package.info_stem += ':' + package.architecture;
        installed_.push_back(std::move(package));
    }
    std::ranges::sort(installed_, {}, identity);
}

void DpkgRoot::read_diversions() {
    std::ifstream in{admin_ / "diversions"};  // there is none where nothing was ever diverted
    for (std::string from, to, by; std::getline(in, from) && std::getline(in, to) && std::getline(in, by);)
        diversions_[std::string{without_leading(from, "/")}] = {std::string{without_leading(to, "/")}, by};
}

void DpkgRoot::read_path_rules() {
    std::vector<fs::path> files;
    std::error_code none;
    for (fs::directory_iterator it{root_ / "etc/dpkg/dpkg.cfg.d", none}, end; it != end; ++it)
        files.push_back(it->path());
    std::ranges::sort(files);
    files.push_back(root_ / "etc/dpkg/dpkg.cfg");
    for (auto const& file : files) {
        std::ifstream in{file};
        for (std::string line; std::getline(in, line);) {
            auto const rule = trim(line);
            auto const split = rule.find_first_of("= \t");
            if (split == rule.npos) continue;
            auto const option = rule.substr(0, split);
            if (option != "path-exclude" && option != "path-include") continue;
            path_rules_.emplace_back(option == "path-exclude", trim(rule.substr(split + 1)));
        }
    }
}

InstalledPackage const* DpkgRoot::find(std::string_view name, std::string_view version,
                                       std::string_view architecture) const {
    auto const wanted = std::tie(name, architecture);
    auto const it = std::ranges::lower_bound(installed_, wanted, {}, [](InstalledPackage const& p) {
        return std::tuple<std::string_view, std::string_view>{p.name, p.architecture};
    });
    if (it == installed_.end() || it->name != name || it->architecture != architecture) return nullptr;
    return it->version == version ? &*it : nullptr;
}

std::optional<std::vector<RecordedSum>> DpkgRoot::recorded_sums(InstalledPackage const& package) const {
    auto const file = admin_ / "info" / (package.info_stem + ".md5sums");
    if (!fs::exists(file)) return std::nullopt;
    auto in = open(file);
    std::vector<RecordedSum> sums;
    for (std::string line; std::getline(in, line);) {
        auto const split = std::min(line.find(' '), line.size());
        auto const path = without_leading(trim(std::string_view{line}.substr(split)), "./");
        if (!is_md5(std::string_view{line}.substr(0, split)) || path.empty())
            throw std::runtime_error{"not a checksum in " + file.string() + ": " + line};
        if (!package.conffiles.contains(std::string{path}))
            sums.push_back({line.substr(0, split), std::string{path}});
    }
    return sums;
}

fs::path DpkgRoot::locate(InstalledPackage const& package, std::string const& path) const {
    auto const diverted = diversions_.find(path);
    bool const elsewhere = diverted != diversions_.end() && diverted->second.by != package.name;
    return resolve(elsewhere ? diverted->second.to : path);
}

fs::path DpkgRoot::resolve(fs::path const& path) const {
    if (root_ == "/") return root_ / path;  // the kernel does it, and nothing can lead out
    std::vector<fs::path> todo(path.begin(), path.end());
    std::ranges::reverse(todo);
    fs::path done;
    for (int links = 0; !todo.empty();) {
        auto const part = todo.back();
        todo.pop_back();
        if (part == ".." || part == "." || part.empty() || part == "/") {
            if (part == "..") done = done.parent_path();
            continue;
        }
        std::error_code unreadable;
        auto const target = fs::read_symlink(root_ / done / part, unreadable);
        if (unreadable) {
            done /= part;
            continue;
        }
        if (++links > 40) throw std::runtime_error{"too many symbolic links on the way to " + path.string()};
        if (target.is_absolute()) done.clear();
        std::vector<fs::path> const steps(target.begin(), target.end());
        todo.insert(todo.end(), steps.rbegin(), steps.rend());
    }
    return root_ / done;
}

bool DpkgRoot::excluded(std::string const& path) const {
    std::string const absolute = '/' + path;
    bool result = false;
    for (auto const& [exclude, pattern] : path_rules_)
        if (::fnmatch(pattern.c_str(), absolute.c_str(), 0) == 0) result = exclude;
    return result;
}

std::vector<std::string> DpkgRoot::solely_owned(InstalledPackage const& package,
                                                std::vector<std::string> const& paths) const {
    std::map<std::string, std::pair<bool, bool>> owners;  // absolute path: ours, another's
    for (auto const& path : paths) owners['/' + path];
    for (auto const& entry : fs::directory_iterator{admin_ / "info"}) {
        if (entry.path().extension() != ".list") continue;
        bool const ours = entry.path().stem() == package.info_stem;
        auto in = open(entry.path());
        for (std::string line; std::getline(in, line);)
            if (auto const it = owners.find(line); it != owners.end())
                (ours ? it->second.first : it->second.second) = true;
    }
    for (auto const& [from, diversion] : diversions_) {
        for (auto const& path : {from, diversion.to})
            if (auto const it = owners.find('/' + path); it != owners.end()) it->second.second = true;
    }
    std::vector<std::string> result;
    for (auto const& path : paths)
        if (owners['/' + path] == std::pair{true, false}) result.push_back(path);
    return result;
}

}  // namespace dpkg
