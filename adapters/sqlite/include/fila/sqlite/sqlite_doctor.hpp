// SPDX-License-Identifier: MIT
// What slows or stops a queue in a SQLite file, for doctor(): the file's side of it.
//
// | probe | finding |
// |---|---|
// | time-out | none: whoever meets another writer fails at once |
// | file | it or its directory not writable; -wal and -shm with other owners or modes |
// | journal | not WAL: readers and writers block each other |
// | log | grown, because a reader keeps an old snapshot; tries a passive checkpoint, as each commit does |
// | write lock | held by somebody for longer than `DoctorLimits::write_lock`; waits that long, but only then |
//
// Of a file that was moved or deleted under the store, doctor() throws as every verb does. Nothing reads the
// table; `PRAGMA quick_check` would read all of it and is left to you.
#pragma once

#include <fila/sqlite/sqlite_connection.hpp>
#include <fila/table/examination.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#if __has_include(<sys/stat.h>) && __has_include(<unistd.h>)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define FILA_SQLITE_FILE_MODES 1
#endif

namespace fila::inline v1::sqlite::detail {

class Examiner {
public:
    Examiner(Connection& connection, Examination& seen)
        : c_{connection},
          seen_{seen},
          schema_{seen.table.schema.empty() ? "main" : std::string{seen.table.schema}} {
        if (auto const* name = sqlite3_db_filename(c_.handle(), schema_.c_str())) file_ = name;
    }

    void all() {
        if (file_.empty()) return;  // in memory: one connection, and nobody else
        if (c_.config().busy_timeout.count() == 0)
            seen_.add("busy_timeout is 0: a verb fails as soon as it meets another writer",
                      "fila::sqlite::Config::busy_timeout: a second or more");
        look("the modes of " + file_, [&] { modes(); });
        look("the journal mode of " + file_, [&] { journal(); });
        look("the write-ahead log of " + file_, [&] { log(); });
        look("the write lock of " + file_, [&] { write_lock(); });
    }

private:
    void modes() {
#ifdef FILA_SQLITE_FILE_MODES
        auto const directory = std::filesystem::path{file_}.parent_path().string();
        if (!writable(file_) || sqlite3_db_readonly(c_.handle(), schema_.c_str()) == 1)
            seen_.add(file_ + " is not writable for us: nothing can be claimed",
                      "chmod u+w " + quoted(file_));
        if (!directory.empty() && !writable(directory))
            seen_.add(directory + " is not writable for us: the log cannot be made anew",
                      "chmod u+w " + quoted(directory));
        struct ::stat of_file{};
        if (::stat(file_.c_str(), &of_file) != 0) return;
        for (auto const* suffix : {"-wal", "-shm"}) {
            auto const companion = file_ + suffix;
            struct ::stat of_companion{};
            if (::stat(companion.c_str(), &of_companion) != 0) continue;
            auto const mend = [&](char const* command) {
                return std::string{command} + " --reference=" + quoted(file_) + ' ' + quoted(companion);
            };
            if (of_companion.st_uid != of_file.st_uid)
                seen_.add(companion + " belongs to another user than the file: one of them cannot write it",
                          mend("chown"));
            if ((of_companion.st_mode & 0666) != (of_file.st_mode & 0666))
                seen_.add(
                    companion + " has another mode than the file: who may use one may not use the other",
                    mend("chmod"));
        }
#endif
    }
    void journal() {
        std::string mode;
        c_.run({"PRAGMA " + fila::detail::quote_name(schema_) + ".journal_mode"}, {},
               [&](auto const& r) { mode = r[0].template get<std::string>(); });
        wal_ = mode == "wal";
        if (!wal_)
            seen_.add("the journal mode of " + file_ + " is " + mode +
                          ", not wal: readers and writers block each other",
                      "PRAGMA journal_mode = WAL   -- when nobody else has it open; refused on a network "
                      "file system: "
                      "move it to a local disk");
    }
    void log() {
        std::error_code none;
        auto const size = std::filesystem::file_size(file_ + "-wal", none);
        if (!wal_ || none || static_cast<std::int64_t>(size) <= seen_.limits.log_bytes) return;
        int frames = 0, moved = 0;
        int const code = sqlite3_wal_checkpoint_v2(c_.handle(), schema_.c_str(), SQLITE_CHECKPOINT_PASSIVE,
                                                   &frames, &moved);
        if (code != SQLITE_OK) throw make_error(c_.handle(), code, "checkpointing");
        std::int64_t page = 0;
        c_.run({"PRAGMA " + fila::detail::quote_name(schema_) + ".page_size"}, {},
               [&](auto const& r) { page = r[0].template get<std::int64_t>(); });
        constexpr std::int64_t header = 24, mebibyte = 1 << 20;
        auto const kept = frames * (page + header);
        if (kept <= seen_.limits.log_bytes) return;
        seen_.add("the write-ahead log of " + file_ + " has " + std::to_string(kept / mebibyte) +
                      " MiB, and " + std::to_string(frames - moved) +
                      " pages of it cannot be written back: a reader keeps an old snapshot, and every read "
                      "grows slower",
                  "PRAGMA wal_checkpoint(TRUNCATE)   -- once that reader has ended; fuser -v " +
                      quoted(file_ + "-shm") + " lists the programs");
    }
    /// Through a connection of its own: our own waits for as long as a verb does.
    void write_lock() {
        struct Close {
            void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
        };
        sqlite3* db = nullptr;
        int code = sqlite3_open_v2(file_.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
        std::unique_ptr<sqlite3, Close> const other{db};
        if (code != SQLITE_OK) throw make_error(db, code, "opening another connection");
        auto const wait = std::chrono::ceil<std::chrono::milliseconds>(seen_.limits.write_lock);
        sqlite3_busy_timeout(db, static_cast<int>(std::min<std::int64_t>(wait.count(), 60'000)));
        code = sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", nullptr, nullptr, nullptr);
        if (code == SQLITE_OK) return;
        if ((code & 0xff) != SQLITE_BUSY) throw make_error(db, code, "taking the write lock");
        seen_.add("another connection has held the write lock of " + file_ + " for more than " +
                      std::to_string(wait.count()) + " ms: claims and settles wait for it",
                  "end its transaction   -- fuser -v " + quoted(file_) +
                      " lists the programs; transactions should be short");
    }

#ifdef FILA_SQLITE_FILE_MODES
    [[nodiscard]] static bool writable(std::string const& path) {
        return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
    }
#endif
    /// For a shell.
    [[nodiscard]] static std::string quoted(std::string const& path) {
        std::string out{"'"};
        for (char const c : path) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
        return out + "'";
    }
    template <class Probe>
    void look(std::string const& at, Probe probe) {
        seen_.look(c_, at, probe);
    }

    Connection& c_;
    Examination& seen_;
    std::string schema_, file_;
    bool wal_ = false;
};

}  // namespace fila::inline v1::sqlite::detail

#undef FILA_SQLITE_FILE_MODES
