// SPDX-License-Identifier: MIT
// The rules of debsums, over DpkgRoot and md5_of_file.
#include "verify.hpp"

#include "md5.hpp"

#include <cerrno>
#include <system_error>

namespace dpkg {

std::string Verification::differences() const {
    std::string text;
    for (auto const& path : missing) text += "missing " + path + '\n';
    for (auto const& path : modified) text += "modified " + path + '\n';
    for (auto const& path : unreadable) text += "unreadable " + path + '\n';
    if (!text.empty()) text.pop_back();
    return text;
}

Verification verify(DpkgRoot const& root, InstalledPackage const& package,
                    std::function<bool()> const& stopping) {
    Verification result;
    auto const sums = root.recorded_sums(package);
    result.has_sums = sums.has_value();
    if (!sums) return result;

    std::vector<std::string> differing;
    for (auto const& [md5, path] : *sums) {
        if (stopping()) {
            result.interrupted = true;
            return result;
        }
        try {
            if (md5_of_file(root.locate(package, path)) != md5) differing.push_back(path);
        } catch (std::system_error const& e) {
            switch (e.code().value()) {
                case ENOENT:
                case ENOTDIR:
                    if (!root.excluded(path)) result.missing.push_back(path);
                    break;
                case EISDIR:
                case EINVAL:
                    result.modified.push_back(path + " (not a regular file)");
                    break;
                case EACCES:
                case EPERM:
                case EIO:
                    result.unreadable.push_back(path + ": " + e.code().message());
                    break;
                default:
                    throw;  // out of descriptors or memory: nothing about the package, worth another attempt
            }
        }
    }
    if (!differing.empty())
        for (auto& path : root.solely_owned(package, differing)) result.modified.push_back(std::move(path));
    return result;
}

}  // namespace dpkg
