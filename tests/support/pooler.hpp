// SPDX-License-Identifier: MIT
// Pooler: a PgBouncer in transaction mode before the tests' PostgreSQL, with few connections to it.
#pragma once

#include "support/child_process.hpp"
#include "support/postgres_server.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <unistd.h>

namespace fila_test {

/// Ends with the object, or with the process. Needs pgbouncer in the PATH.
class Pooler {
public:
    explicit Pooler(std::size_t server_connections)
        : directory_{make_directory()}, process_{command(server_connections)} {
        wait_until(
            [&] {
                if (process_.ended()) throw std::runtime_error{"pgbouncer: " + process_.wait().err};
                return answers();
            },
            "pgbouncer");
    }
    Pooler(Pooler const&) = delete;
    Pooler& operator=(Pooler const&) = delete;
    ~Pooler() {
        process_.signal(SIGKILL);
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    /// To be put behind another conninfo: of two mentions the later one counts.
    [[nodiscard]] std::string address() const { return "host=" + directory_.string() + " port=6432"; }

private:
    /// The socket is there a moment before anybody listens at it.
    [[nodiscard]] bool answers() const {
        try {
            return Session{conninfo() + ' ' + address()}.value<int>("SELECT 1") == 1;
        } catch (pqxx::broken_connection const&) {
            return false;
        }
    }
    /// Not $TMPDIR: the path of a socket has at most 107 bytes.
    static std::filesystem::path make_directory() {
        std::string name = "/tmp/fila-pooler-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::system_error{errno, std::generic_category(), "mkdtemp"};
        return name;
    }
    [[nodiscard]] std::vector<std::string> command(std::size_t server_connections) const {
        Session server;
        auto const file = directory_ / "pgbouncer.ini";
        std::ofstream{file} << "[databases]\n* = host=" << server.value("SHOW unix_socket_directories")
                            << " port=" << server.value("SHOW port") << " user=postgres\n"
                            << "[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = "
                            << directory_.string() << "\nauth_type = any\npool_mode = transaction\n"
                            << "default_pool_size = " << server_connections
                            << "\nmax_client_conn = 100\nserver_idle_timeout = 5\n";
        std::vector<std::string> words{"pgbouncer", "--quiet", file.string()};
        if (::geteuid() == 0) {  // it refuses to be root
            std::filesystem::permissions(directory_, std::filesystem::perms::all);
            words.insert(words.begin() + 1, {"--user", "postgres"});
        }
        return words;
    }

    std::filesystem::path directory_;
    ChildProcess process_;
};

}  // namespace fila_test
