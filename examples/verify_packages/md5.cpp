// SPDX-License-Identifier: MIT
// MD5 through OpenSSL's EVP interface.
#include "md5.hpp"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace dpkg {

namespace {

class FileDescriptor {
public:
    explicit FileDescriptor(std::filesystem::path const& path)
        : fd_{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)} {}
    FileDescriptor(FileDescriptor const&) = delete;
    FileDescriptor& operator=(FileDescriptor const&) = delete;
    ~FileDescriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

void check(bool ok, char const* what) {
    if (!ok) throw std::runtime_error{std::string{"libcrypto: "} + what + " failed"};
}

}  // namespace

std::string md5_of_file(std::filesystem::path const& path) {
    auto const fail = [&](int error) {
        throw std::system_error{error, std::generic_category(), path.string()};
    };
    FileDescriptor const file{path};
    if (file.get() < 0) fail(errno);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) fail(errno);
    if (!S_ISREG(status.st_mode)) fail(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);

    std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> const context{::EVP_MD_CTX_new(),
                                                                            &::EVP_MD_CTX_free};
    if (!context) throw std::bad_alloc{};
    check(::EVP_DigestInit_ex(context.get(), ::EVP_md5(), nullptr) == 1, "MD5");
    std::vector<unsigned char> buffer(256 * 1024);
    for (;;) {
        auto const got = ::read(file.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(errno);
        if (got == 0) break;
        check(::EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(got)) == 1, "MD5");
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    check(::EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1, "MD5");

    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
        constexpr char digits[] = "0123456789abcdef";
        hex += digits[digest[i] >> 4U];
        hex += digits[digest[i] & 15U];
    }
    return hex;
}

}  // namespace dpkg
