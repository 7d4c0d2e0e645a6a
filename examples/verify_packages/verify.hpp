// SPDX-License-Identifier: MIT
// Compares one package's files with the checksums that came with it, by the rules of Debian's debsums.
#pragma once

#include "dpkg_root.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dpkg {

struct Verification {
    std::vector<std::string> missing, modified;
    std::vector<std::string> unreadable;  ///< "path: why": no verdict is possible on these
    bool has_sums = true;
    bool interrupted = false;  ///< stopped between two files; the lists are not complete

    /// One line a file: "missing usr/bin/sed".
    [[nodiscard]] std::string differences() const;
};

/// Configuration files are left out, files of excluded paths may be missing, diverted files are looked for
/// where they were diverted to, and a file taken over by another package is that package's affair. `stopping`
/// is asked between two files.
[[nodiscard]] Verification verify(DpkgRoot const& root, InstalledPackage const& package,
                                  std::function<bool()> const& stopping);

}  // namespace dpkg
