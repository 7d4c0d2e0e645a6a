// SPDX-License-Identifier: MIT
// SqlCore: what a SQL store and its open transactions share. It lives as long as the last of them.
#pragma once

#include <fila/store/wake_list.hpp>
#include <fila/table/connection_pool.hpp>
#include <fila/table/sql_codec.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>
#if __has_include(<sys/random.h>)
#include <sys/random.h>
#include <unistd.h>
#else
#include <random>
#endif

namespace fila::inline v1::detail {

/// Random per store object, so that a restarted process is never taken for the one that died.
[[nodiscard]] inline std::string random_owner() {
    std::array<unsigned char, 16> octets{};
#if __has_include(<sys/random.h>)  // std::random_device in effect; <random> is slow to compile
    if (getentropy(octets.data(), octets.size()) != 0)
        throw Error{"fila: the system gives no random numbers"};
#else
    std::random_device random;
    for (auto& octet : octets) octet = static_cast<unsigned char>(random());
#endif
    std::string owner = "fila-";
    for (auto const octet : octets) {
        owner += "0123456789abcdef"[octet >> 4];
        owner += "0123456789abcdef"[octet & 15];
    }
    return owner;
}

struct NoListener {};
template <class D>
struct listener_of {
    using type = NoListener;
};
template <AnnouncingDriver D>
struct listener_of<D> {
    using type = typename D::Listener;
};
template <class D>
using listener_t = typename listener_of<D>::type;

template <class T, class D>
struct SqlCore {
    using Codec = SqlCodec<T>;
    using Connection = typename D::Connection;
    using settlement_type = typename Codec::settlement_type;

    SqlCore(typename D::Config const& config, T const& table)
        : codec{table}, dialect{D::dialect(config)}, sql{render(codec.table(), dialect)}, pool{config} {}

    /// Puts the outcomes into two statements: rows that are erased, and rows that stay. After a throw the caller
    /// rolls back.
    void settle(Connection& c, std::span<settlement_type const> settlements, std::span<Ack> acks,
                Statement const& keep, Statement const& erase, Bindings const& bindings) const {
        Rows kept = codec.settle_rows(), erased_rows = codec.key_rows();
        std::vector<std::size_t> kept_at, erased_at;
        erased_at.reserve(settlements.size());
        for (auto& column : erased_rows.columns) column.reserve(settlements.size());
        for (std::size_t i = 0; i < settlements.size(); ++i) {
            auto const& s = settlements[i];
            acks[i] = Ack::lost;
            if (is_erased(codec.word(s.outcome))) {
                Codec::add_key(erased_rows, s.ticket);
                erased_at.push_back(i);
            } else {
                add_settlement(kept, s);
                kept_at.push_back(i);
            }
        }
        auto send = [&](Statement const& statement, Rows const& rows, std::vector<std::size_t> const& at) {
            if (at.empty()) return;
            c.run_rows(statement, bindings, rows,
                       [&](auto const& record) { acks[at[place(record)]] = Ack::applied; });
        };
        auto const both = [&] {
            send(erase, erased_rows, erased_at);
            send(keep, kept, kept_at);
        };
        if (erased_at.empty() || kept_at.empty() || c.in_transaction()) return both();
        // One transaction: a repeat after an error then meets no half that was applied.
        c.begin();
        if (!sql.hold.empty()) {
            Rows all = codec.key_rows();
            for (auto const& s : settlements) Codec::add_key(all, s.ticket);
            c.run_rows(sql.hold, bindings, all, [](auto const&) {});
        }
        both();
        c.commit();
    }
    /// Settles a transaction's one row and commits.
    Ack finish(Connection& c, settlement_type const& s, Bindings const& bindings) const
        requires FinishingConnection<Connection>
    {
        bool const erased = is_erased(codec.word(s.outcome));
        Rows rows = erased ? codec.key_rows() : codec.settle_rows();
        erased ? Codec::add_key(rows, s.ticket) : add_settlement(rows, s);
        return c.finish(erased ? sql.erase_or_raise : sql.settle_or_raise, bindings, rows) ? Ack::applied
                                                                                           : Ack::lost;
    }
    /// The name under which news of this queue goes: short, lower case, and another one for each queue of a table.
    [[nodiscard]] std::string channel() const {
        auto text = codec.table().name().qualified(dialect.default_schema);
        codec.table().each_fixed([&](auto const& part) {
            text += ' ';
            text += part.name;
            text += '=' + part.value();
        });
        std::uint64_t hash = 14695981039346656037u;  // FNV-1a
        for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
        std::string name = "fila_";
        for (int shift = 60; shift >= 0; shift -= 4) name += "0123456789abcdef"[hash >> shift & 15u];
        return name;
    }
    /// The place, from 0, that a statement over many rows returned.
    template <class Record>
    [[nodiscard]] static std::size_t place(Record const& record) {
        return static_cast<std::size_t>(record[0].template get<std::int64_t>() - 1);
    }

    Codec codec;
    Dialect dialect;
    Statements sql;
    ConnectionPool<D> pool;
    WakeList wakes;
    std::mutex listener_mutex;
    std::weak_ptr<listener_t<D>> listener;  ///< guarded by it
    std::string owner = random_owner();
    std::atomic<std::int64_t> lease{std::int64_t{5} * 60 *
                                    1'000'000};  ///< of the latest claim: the age to rescue by
    std::atomic<std::uint64_t> transactions{0};

private:
    void add_settlement(Rows& rows, settlement_type const& s) const {
        try {
            codec.add_settlement(rows, s);
        } catch (std::exception const& e) {  // of a user's codec
            throw Error{"fila: a result cannot be written: " + std::string{e.what()}};
        }
    }
};

}  // namespace fila::inline v1::detail
