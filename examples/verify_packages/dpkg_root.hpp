// SPDX-License-Identifier: MIT
// DpkgRoot: what dpkg has written down about the packages of one root directory.
//
// Read once, at construction; safe to use from several threads afterwards. Every path that is looked up stays
// below the root: its symbolic links, absolute ones too, are followed as a process chrooted there would.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dpkg {

struct InstalledPackage {
    std::string name, version, architecture;
    std::string info_stem;  ///< its files in info/ begin so: "sed", but "libc6:amd64" for Multi-Arch: same
    std::set<std::string> conffiles;  ///< relative to the root, without a leading slash
};

struct RecordedSum {
    std::string md5, path;  ///< 32 lower-case hexadecimal digits; relative to the root
};

class DpkgRoot {
public:
    /// Throws std::runtime_error, naming the file, if there is no package database below `root`.
    explicit DpkgRoot(std::filesystem::path root);

    [[nodiscard]] std::vector<InstalledPackage> const& installed() const noexcept { return installed_; }
    /// Null if it is not installed, or not in this version.
    [[nodiscard]] InstalledPackage const* find(std::string_view name, std::string_view version,
                                               std::string_view architecture) const;

    /// The checksums that came with the package, its configuration files left out. Nothing if none came.
    [[nodiscard]] std::optional<std::vector<RecordedSum>> recorded_sums(
        InstalledPackage const& package) const;

    /// Where the file that `package` shipped as `path` is, after diversions and symbolic links.
    [[nodiscard]] std::filesystem::path locate(InstalledPackage const& package,
                                               std::string const& path) const;

    /// Whether the administrator told dpkg never to unpack `path` (path-exclude, as slim images do).
    [[nodiscard]] bool excluded(std::string const& path) const;

    /// Of `paths`, those that belong to `package` alone. A file that another package has taken over
    /// (Replaces), shares, or diverts may rightly differ from what this one recorded.
    [[nodiscard]] std::vector<std::string> solely_owned(InstalledPackage const& package,
                                                        std::vector<std::string> const& paths) const;

private:
    struct Diversion {
        std::string to, by;
    };
    void read_status();
    void read_diversions();
    void read_path_rules();
    [[nodiscard]] std::filesystem::path resolve(std::filesystem::path const& path) const;

    std::filesystem::path root_, admin_;
    std::vector<InstalledPackage> installed_;
    std::map<std::string, Diversion> diversions_;
    std::vector<std::pair<bool, std::string>>
        path_rules_;  // exclude or include, pattern; the last match wins
};

}  // namespace dpkg
