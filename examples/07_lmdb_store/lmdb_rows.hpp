// SPDX-License-Identifier: MIT
// Rows in LMDB, as lmdb_store.hpp needs them: an environment, its transactions, and locks on single rows.
//
// Three tables: `rows` holds each row under its number, `places` the same rows in the order in which they are looked
// for (by state, priority, time), `data` is the handlers' own. Rows that are done are erased.
#pragma once

#include <fila/types.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <compare>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <lmdb.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

namespace lmdb {

using Id = std::int64_t;
enum class State : std::int64_t { pending, processing, dead };

/// `map_size` is the most that the data can grow to, and the same in every process; only what is used takes space.
/// Without `durable` a crash of the machine may lose the last commits, or the file: for tests.
struct Options {
    std::size_t map_size = std::size_t{4} << 30;
    bool durable = true;
};

/// What is wrong with the environment may pass, and is no row's fault; a size that LMDB refuses is.
inline void check(int code, char const* doing) {
    if (code == MDB_SUCCESS) return;
    auto what = std::string{"lmdb: "} + doing + ": " + mdb_strerror(code);
    if (code == MDB_MAP_FULL || code == MDB_MAP_RESIZED)
        what += ": every process that opens this directory needs the same, larger Options::map_size";
    throw fila::Error{what,
                      {.retryable = code != MDB_BAD_VALSIZE,
                       .maybe_applied = code == EIO,  // the others come before the page that makes a commit
                       .code = std::to_string(code)}};
}

/// Nanoseconds since 1970: processes compare them, and they outlive a restart of the machine.
inline std::int64_t now() {
    return std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()}.count();
}
inline std::int64_t from_now(fila::Duration wait) {
    return now() + std::min<fila::Duration>(wait, std::chrono::years{100}).count();
}

/// Where a row is looked for: pending ones by priority and due time, processing ones by the end of their lease.
struct Place {
    State state = State::pending;
    std::int64_t priority = std::numeric_limits<std::int64_t>::min();
    std::int64_t time = priority;
    Id id = 0;
    friend auto operator<=>(Place const&, Place const&) = default;
};

struct Numbers {
    std::int64_t fence = 0, priority = 0, due = 0, until = 0;
    State state = State::pending;
    fila::History history{};
    std::size_t error_size = 0;
};
struct Row : Numbers {
    std::string error{}, payload{};
    [[nodiscard]] Place place(Id id) const {
        if (state == State::pending) return {state, priority, due, id};
        return {state, 0, state == State::processing ? until : 0, id};
    }
};

/// Bytes of a value, and the other way round: LMDB aligns nothing.
template <class T>
    requires std::is_trivially_copyable_v<T>
std::string_view bytes(T const& value) {
    return {reinterpret_cast<char const*>(&value), sizeof value};
}
template <class T>
T load(std::string_view from) {
    T value{};
    if (from.size() < sizeof value) throw fila::Error{"lmdb: a record is too short: the file is not ours"};
    std::memcpy(&value, from.data(), sizeof value);
    return value;
}
inline std::string_view view(MDB_val const& v) { return {static_cast<char const*>(v.mv_data), v.mv_size}; }
inline MDB_val value_of(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

/// Locks on numbers, among all threads and processes. They end with this object, or its process.
class Locks {
public:
    static constexpr Id writer = 0, reader = std::numeric_limits<Id>::max();  // no row has these numbers

    explicit Locks(std::string const& file) : fd_{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)} {
        if (fd_ < 0) check(errno, "opening the file of locks");
    }
    Locks(Locks&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    Locks& operator=(Locks other) noexcept { return std::swap(fd_, other.fd_), *this; }
    ~Locks() {
        if (fd_ >= 0) ::close(fd_);
    }
    bool take(Id id) { return set(F_OFD_SETLK, F_WRLCK, id, 1); }
    void wait_for(Id id) {
        while (!set(F_OFD_SETLKW, F_WRLCK, id, 1)) continue;  // a signal came
    }
    void release(Id id) { set(F_OFD_SETLK, F_UNLCK, id, 1); }
    void release_all() { set(F_OFD_SETLK, F_UNLCK, 0, 0); }

private:
    bool set(int how, int type, Id first, Id count) {
        struct ::flock lock{};
        lock.l_type = static_cast<short>(type), lock.l_whence = SEEK_SET;
        lock.l_start = first, lock.l_len = count;
        if (::fcntl(fd_, how, &lock) == 0) return true;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) check(errno, "locking");
        return false;
    }
    int fd_;
};

/// LMDB must be opened once a process, and not used in a child after a fork; both are refused.
class Environment {
public:
    Environment(std::filesystem::path const& directory, Options options)
        : lock_file_{(std::filesystem::create_directories(directory), directory / "locks")} {
        if (!once_.take(std::numeric_limits<Id>::max() - ::getpid()))
            throw fila::ConfigError{"lmdb: " + directory.string() +
                                    " is open in this process already: copy the store that has it"};
        MDB_env* env = nullptr;
        check(mdb_env_create(&env), "making an environment");
        env_.reset(env);
        check(mdb_env_set_maxdbs(env, 3), "making room for tables");
        check(mdb_env_set_mapsize(env, options.map_size), "setting the size of the map");
        check(mdb_env_open(env, directory.c_str(), MDB_NOTLS | (options.durable ? 0U : MDB_NOSYNC), 0666),
              "opening the environment");
    }
    [[nodiscard]] MDB_env* get() const {
        if (::getpid() != process_)
            throw fila::Error{"lmdb: a forked process must open the directory itself"};
        return env_.get();
    }
    [[nodiscard]] std::string const& lock_file() const noexcept { return lock_file_; }
    /// A reader that was killed keeps old pages from being used again.
    void forget_dead_readers() const {
        Locks gate{lock_file_};
        gate.wait_for(Locks::reader);
        int dead = 0;
        check(mdb_reader_check(get(), &dead), "looking for dead readers");
    }

    MDB_dbi rows = 0, places = 0, data = 0;  // opened once, by open() below

private:
    struct Close {
        void operator()(MDB_env* env) const { mdb_env_close(env); }
    };
    std::string lock_file_;
    Locks once_{lock_file_};
    std::unique_ptr<MDB_env, Close> env_;
    ::pid_t process_ = ::getpid();
};

/// A transaction of LMDB: begun and ended by one thread, aborted unless it is committed. Who waits for it waits at a
/// lock of the kernel's. At LMDB's own mutex a waiter that is killed can take with it the wake-up of the next, who
/// then sleeps for ever.
class Txn {
public:
    explicit Txn(Environment const& env, unsigned flags = 0) : env_{&env}, gate_{env.lock_file()} {
        bool const reads = (flags & MDB_RDONLY) != 0;
        gate_.wait_for(reads ? Locks::reader : Locks::writer);
        MDB_txn* txn = nullptr;
        check(mdb_txn_begin(env.get(), nullptr, flags, &txn), "beginning a transaction");
        txn_.reset(txn);
        if (reads) gate_.release_all();
    }
    void commit() {
        int const code = mdb_txn_commit(txn_.release());
        gate_.release_all();
        check(code, "committing");
    }

    [[nodiscard]] std::optional<std::string_view> get(MDB_dbi table, std::string_view key) const {
        MDB_val k = value_of(key), v{};
        int const code = mdb_get(txn_.get(), table, &k, &v);
        if (code == MDB_NOTFOUND) return std::nullopt;
        check(code, "reading");
        return view(v);
    }
    void put(MDB_dbi table, std::string_view key, std::string_view value) {
        MDB_val k = value_of(key), v = value_of(value);
        check(mdb_put(txn_.get(), table, &k, &v, 0), "writing");
    }
    void erase(MDB_dbi table, std::string_view key) {
        MDB_val k = value_of(key);
        if (int const code = mdb_del(txn_.get(), table, &k, nullptr); code != MDB_NOTFOUND)
            check(code, "erasing");
    }
    [[nodiscard]] std::optional<Row> row(Id id) const {
        auto const found = get(env_->rows, bytes(id));
        if (!found) return std::nullopt;
        Row row{load<Numbers>(*found)};
        row.error = found->substr(sizeof(Numbers), row.error_size);
        row.payload = found->substr(sizeof(Numbers) + row.error_size);
        return row;
    }
    /// Writes a row and its place, instead of what was there; nothing is written of a row that is not given.
    void replace(Id id, std::optional<Row> row) {
        if (auto const old = this->row(id)) erase(env_->places, bytes(old->place(id)));
        if (!row) return erase(env_->rows, bytes(id));
        row->error_size = row->error.size();
        put(env_->rows, bytes(id), std::string{bytes<Numbers>(*row)} + row->error + row->payload);
        put(env_->places, bytes(row->place(id)), {});
    }
    /// The first place that is not before this one.
    [[nodiscard]] std::optional<Place> first(Place const& from) const {
        MDB_cursor* cursor = nullptr;
        check(mdb_cursor_open(txn_.get(), env_->places, &cursor), "opening a cursor");
        std::unique_ptr<MDB_cursor, decltype([](MDB_cursor* c) { mdb_cursor_close(c); })> const closing{
            cursor};
        MDB_val k = value_of(bytes(from)), v{};
        int const code = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
        if (code == MDB_NOTFOUND) return std::nullopt;
        check(code, "looking for rows");
        return load<Place>(view(k));
    }
    /// Rows in this state, in the order of their places.
    [[nodiscard]] std::vector<Id> ids(State state, std::size_t at_most) const {
        std::vector<Id> found;
        for (Place at{state}; found.size() < at_most; ++at.id) {
            auto const place = first(at);
            if (!place || place->state != state) break;
            found.push_back(place->id), at = *place;
        }
        return found;
    }
    /// A number that no row has had before, and none will have again.
    Id next_id() {
        auto const last = get(env_->rows, bytes(Id{0}));
        Id const id = last ? load<Id>(*last) + 1 : 1;
        put(env_->rows, bytes(Id{0}), bytes(id));
        return id;
    }
    MDB_dbi table(char const* name, unsigned flags, MDB_cmp_func* order) {
        MDB_dbi table = 0;
        check(mdb_dbi_open(txn_.get(), name, MDB_CREATE | flags, &table), "opening a table");
        if (order != nullptr) check(mdb_set_compare(txn_.get(), table, order), "ordering a table");
        return table;
    }

private:
    struct Abort {
        void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
    };
    Environment const* env_;
    Locks gate_;  // let go of after the transaction
    std::unique_ptr<MDB_txn, Abort> txn_;
};

inline std::shared_ptr<Environment const> open(std::filesystem::path const& directory, Options options = {}) {
    auto env = std::make_shared<Environment>(directory, options);
    Txn txn{*env};
    env->rows = txn.table("rows", MDB_INTEGERKEY, nullptr);
    env->places = txn.table("places", 0, [](MDB_val const* a, MDB_val const* b) {
        Place left, right;
        std::memcpy(&left, a->mv_data, sizeof left), std::memcpy(&right, b->mv_data, sizeof right);
        return left < right ? -1 : static_cast<int>(left > right);
    });
    env->data = txn.table("data", 0, nullptr);
    txn.commit();
    return env;
}

}  // namespace lmdb
