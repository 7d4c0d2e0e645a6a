// SPDX-License-Identifier: MIT
// The MD5 of a file, streamed through libcrypto: memory stays small however large the file is.
#pragma once

#include <filesystem>
#include <string>

namespace dpkg {

/// 32 lower-case hexadecimal digits. Throws std::system_error with the errno of the failed call; a path that
/// is not a regular file is refused with EISDIR or EINVAL, and never waited for (a pipe).
[[nodiscard]] std::string md5_of_file(std::filesystem::path const& path);

}  // namespace dpkg
