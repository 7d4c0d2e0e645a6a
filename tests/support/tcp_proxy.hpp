// SPDX-License-Identifier: MIT
// TcpProxy: a network between the workers and the server, to be cut, stalled and half closed.
#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fila_test {

/// Listens on 127.0.0.1 and brings each connection to a server's unix socket. One thread moves the bytes; the
/// commands may come from any other, and are carried out before they return.
class TcpProxy {
public:
    /// What is lost when a request goes by.
    enum class Loss {
        request,  ///< it does not arrive
        reply,    ///< it arrives, and is answered; the answer is lost
    };
    enum class Side { client, server };

    explicit TcpProxy(std::string socket_path) : socket_path_{std::move(socket_path)} {
        listener_ = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        checked(::bind(listener_, any, sizeof address), "bind");
        checked(::listen(listener_, 128), "listen");
        socklen_t length = sizeof address;
        checked(::getsockname(listener_, any, &length), "getsockname");
        port_ = ntohs(address.sin_port);
        checked(::pipe2(bell_, O_CLOEXEC | O_NONBLOCK), "pipe");
        thread_ = std::thread{[this] { serve(); }};
    }
    TcpProxy(TcpProxy const&) = delete;
    TcpProxy& operator=(TcpProxy const&) = delete;
    ~TcpProxy() {
        command([this] { ending_ = true; });
        thread_.join();
        for (auto& link : links_) close(link, false);
        ::close(listener_), ::close(bell_[0]), ::close(bell_[1]);
    }

    [[nodiscard]] std::string address() const { return "host=127.0.0.1 port=" + std::to_string(port_); }

    /// Nothing moves, nothing ends: a peer that vanished.
    void stall() {
        command([this] { stalled_ = true; });
    }
    void pass() {
        command([this] { stalled_ = false; });
    }
    /// Ends every connection: by a reset, or in order.
    void cut(bool reset) {
        command([this, reset] {
            for (auto& link : links_) close(link, reset);
        });
    }
    /// That side hears the end of the other one; nothing moves in this direction any more. The other
    /// direction stays open, until a cut.
    void half_close(Side side) {
        command([this, side] {
            for (auto& link : links_) {
                auto& way = side == Side::client ? link.to_client : link.to_server;
                way.shut = true, way.waiting.clear();
                ::shutdown(way.to, SHUT_WR);
            }
        });
    }
    /// The next request with this text in it loses its connection.
    void arm(Loss loss, std::string text) {
        command([&] { armed_ = true, loss_ = loss, text_ = std::move(text); });
    }
    [[nodiscard]] int losses() const { return losses_; }

private:
    struct Way {
        int from = -1, to = -1;
        bool shut = false;
        std::string waiting{};
    };
    struct Link {
        Way to_server, to_client;
        bool started = false;     ///< the client has said who it is
        bool reply_lost = false;  ///< what the server says next is the last
        bool closed = false;
    };

    static int checked(int result, char const* what) {
        if (result < 0) throw std::system_error{errno, std::generic_category(), what};
        return result;
    }
    void command(std::function<void()> what) {
        std::unique_lock lock{mutex_};
        auto const mine = ++asked_;
        todo_.push_back(std::move(what));
        lock.unlock();
        (void)!::write(bell_[1], "", 1);
        while (answered_ < mine) std::this_thread::yield();
    }

    void serve() {
        while (!ending_) {
            std::vector<pollfd> fds{{bell_[0], POLLIN, 0}};
            if (!stalled_) {
                fds.push_back({listener_, POLLIN, 0});
                for (auto const& link : links_)
                    for (auto const* way : {&link.to_server, &link.to_client}) {
                        if (!way->shut && way->waiting.size() < 1U << 20U)
                            fds.push_back({way->from, POLLIN, 0});
                        if (!way->waiting.empty()) fds.push_back({way->to, POLLOUT, 0});
                    }
            }
            ::poll(fds.data(), fds.size(), 1000);
            char rung[64];
            while (::read(bell_[0], rung, sizeof rung) > 0) {}
            obey();
            if (stalled_) continue;
            accept();
            for (auto& link : links_) {
                if (!link.closed) move(link, link.to_server, true);
                if (!link.closed) move(link, link.to_client, false);
            }
            links_.remove_if([](Link const& link) { return link.closed; });
        }
    }
    void obey() {
        std::vector<std::function<void()>> todo;
        {
            std::lock_guard const lock{mutex_};
            todo.swap(todo_);
        }
        for (auto const& what : todo) {
            what();
            ++answered_;
        }
    }
    void accept() {
        for (;;) {
            int const client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
            if (client < 0) return;
            int const server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            std::strncpy(address.sun_path, socket_path_.c_str(), sizeof address.sun_path - 1);
            if (::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
                ::close(client), ::close(server);
                continue;
            }
            ::fcntl(server, F_SETFL, O_NONBLOCK);
            links_.push_back(
                {.to_server = {.from = client, .to = server}, .to_client = {.from = server, .to = client}});
        }
    }
    void move(Link& link, Way& way, bool request) {
        char buffer[16384];
        while (!way.shut && way.waiting.size() < 1U << 20U) {
            auto const n = ::recv(way.from, buffer, sizeof buffer, 0);
            if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
            if (n <= 0) return close(link, false);
            std::string_view const bytes{buffer, static_cast<std::size_t>(n)};
            if (request && lost(link, bytes)) return;
            if (!request && link.reply_lost) return close(link, true);
            way.waiting += bytes;
        }
        while (!way.waiting.empty()) {
            auto const n = ::send(way.to, way.waiting.data(), way.waiting.size(), MSG_NOSIGNAL);
            if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
            if (n < 0) return close(link, false);
            way.waiting.erase(0, static_cast<std::size_t>(n));
        }
    }
    /// Whether this request is the one that ends its connection at once.
    bool lost(Link& link, std::string_view bytes) {
        bool const start = !std::exchange(link.started, true);
        if (start || !armed_ || bytes.find(text_) == bytes.npos) return false;
        armed_ = false;
        ++losses_;
        if (loss_ == Loss::reply) return link.reply_lost = true, false;
        close(link, true);
        return true;
    }
    static void close(Link& link, bool reset) {
        if (std::exchange(link.closed, true)) return;
        if (reset) {
            linger const at_once{1, 0};
            ::setsockopt(link.to_server.from, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        }
        ::close(link.to_server.from), ::close(link.to_server.to);
    }

    std::string socket_path_;
    int listener_ = -1, bell_[2]{-1, -1};
    std::uint16_t port_ = 0;
    std::list<Link> links_;  // this and what follows: the thread's own
    bool ending_ = false, stalled_ = false, armed_ = false;
    Loss loss_{};
    std::string text_;
    std::atomic<int> losses_{0};
    std::mutex mutex_;
    std::vector<std::function<void()>> todo_;
    int asked_ = 0;
    std::atomic<int> answered_{0};
    std::thread thread_;
};

}  // namespace fila_test
