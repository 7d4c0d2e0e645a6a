// SPDX-License-Identifier: MIT
// SQLite: worker processes that are killed in a write, and a file that is locked, full, moved and replaced.
#include "chaos/ordeal.hpp"
#include "chaos/sqlite_bed.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mount.h>

using namespace fila_chaos;

namespace {

/// A transaction is the one writer of the file: one worker a process, and no time to lose.
std::vector<std::string> options(Strategy strategy, std::vector<std::string> more = {}) {
    if (strategy == Strategy::in_transaction) more.insert(more.end(), {"workers=1", "work=1-4"});
    return more;
}

void kill_in_writes(Strategy strategy) {
    SqliteBed bed;
    Ordeal ordeal{"SIGKILL of random workers", bed, strategy, {.options = options(strategy)}};
    while (ordeal.goes_on()) {
        pause(ordeal.fleet().some_ms(20, 200));
        ordeal.fleet().kill(ordeal.fleet().any());
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(bed.query("PRAGMA integrity_check")[0][0] == "ok");
}

void hold_a_snapshot(Strategy strategy) {
    SqliteBed bed;
    Ordeal ordeal{"reader blocks checkpoints", bed, strategy, {.options = options(strategy)}};
    std::uintmax_t most = 0;
    {
        auto const reader = SqliteBed::connect(bed.file());
        SqliteBed::run(reader.get(), "BEGIN; SELECT count(*) FROM jobs");
        while (ordeal.goes_on()) {
            pause(20ms);
            most = std::max(most, bed.log_size());
        }
    }
    bed.enqueue(300);
    ordeal.ceased();
    auto const left = bed.log_size();
    ordeal.finish();
    std::cout << "      the log grew to " << most / 1024 << " kB, and was " << left / 1024
              << " kB in the end\n";
    CHECK(ordeal.totals()["errors"] == 0);
    CHECK(left <= 5U << 20U);  // journal_size_limit and what is on its way
}

void lock_file(Strategy strategy) {
    SqliteBed bed;
    Ordeal ordeal{"file locked for longer than the busy time-out",
                  bed,
                  strategy,
                  {.options = options(strategy, {"busy_timeout=100"})}};
    while (ordeal.goes_on()) {
        auto const other = SqliteBed::connect(bed.file());
        SqliteBed::run(other.get(), "BEGIN IMMEDIATE");
        pause(ordeal.fleet().some_ms(300, 1600));
        SqliteBed::run(other.get(), "COMMIT");
        pause(ordeal.fleet().some_ms(100, 300));
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

/// A file system of a few megabytes.
class SmallDisk {
public:
    SmallDisk(std::filesystem::path where, std::string const& options) : where_{std::move(where)} {
        std::filesystem::create_directory(where_);
        mounted_ = ::mount("tmpfs", where_.c_str(), "tmpfs", 0, options.c_str()) == 0;
        if (!mounted_) why_ = std::strerror(errno);
    }
    SmallDisk(SmallDisk const&) = delete;
    SmallDisk& operator=(SmallDisk const&) = delete;
    ~SmallDisk() {
        if (mounted_) ::umount2(where_.c_str(), MNT_DETACH);
    }
    [[nodiscard]] bool mounted() const { return mounted_; }
    [[nodiscard]] std::string const& why_not() const { return why_; }
    void fill() const {
        std::ofstream ballast{where_ / "ballast"};
        std::string const kilobyte(1024, 'x');
        while (ballast << kilobyte << std::flush) {}
    }
    void free() const { std::filesystem::remove(where_ / "ballast"); }

private:
    std::filesystem::path where_;
    bool mounted_ = false;
    std::string why_;
};

void fill_disk(Strategy strategy) {
    Scratch scratch;
    SmallDisk disk{scratch.path() / "disk", "size=8m"};
    if (!disk.mounted()) {
        std::cout << "SKIPPED: a small file system cannot be mounted here: " << disk.why_not() << '\n';
        return;
    }
    SqliteBed bed{scratch.path() / "disk"};
    Ordeal ordeal{"disk full", bed, strategy, {.rows = 150, .options = options(strategy)}};
    while (ordeal.goes_on() && bed.enqueued() < 6000) {
        disk.fill();
        pause(ordeal.fleet().some_ms(300, 1500));
        disk.free();
        pause(ordeal.fleet().some_ms(200, 400));
    }
    ordeal.ceased();
    ordeal.finish();
    bed.disconnect();
    CHECK(ordeal.totals()["errors"] > 0);
    CHECK(bed.query("PRAGMA integrity_check")[0][0] == "ok");
}

/// More is written than the disk holds, and a log is folded into its file at four megabytes only. The file has
/// room of its own for what comes new.
void log_fills_disk(Strategy strategy) {
    Scratch scratch;
    SmallDisk disk{scratch.path() / "disk", "size=3m"};
    if (!disk.mounted()) {
        std::cout << "SKIPPED: a small file system cannot be mounted here: " << disk.why_not() << '\n';
        return;
    }
    SqliteBed bed{scratch.path() / "disk"};
    bed.enqueue(1000);
    bed.query("CREATE TABLE room AS SELECT zeroblob(400) AS x FROM jobs; DROP TABLE room");
    bed.query("PRAGMA wal_checkpoint(TRUNCATE)");
    Ordeal ordeal{"disk full of the log", bed, strategy, {.rows = 1, .options = options(strategy)}};
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

/// The file goes, its log stays; later it comes back. Nothing is made in its place meanwhile.
void move_file(Strategy strategy) {
    SqliteBed bed;
    Ordeal ordeal{"file moved away and back", bed, strategy, {.options = options(strategy)}};
    while (ordeal.goes_on()) {
        bed.disconnect();
        std::filesystem::rename(bed.file(), bed.beside(".away"));
        pause(ordeal.fleet().some_ms(300, 1500));
        CHECK_FALSE(std::filesystem::exists(bed.file()));
        std::filesystem::rename(bed.beside(".away"), bed.file());
        pause(ordeal.fleet().some_ms(200, 400));
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
    CHECK(bed.query("PRAGMA integrity_check")[0][0] == "ok");
}

/// The file is deleted with all that belongs to it, and after a while a backup is put in its place: what is done
/// then is done there, and nothing more in the old one.
void replace_file(Strategy strategy) {
    SqliteBed bed, backup;
    backup.enqueue(200);
    backup.disconnect();
    Ordeal ordeal{"file deleted, and replaced by another one", bed, strategy, {.options = options(strategy)}};
    bed.disconnect();
    auto const old = SqliteBed::connect(bed.file());
    auto const done_there = [&] {
        return SqliteBed::run(old.get(), "SELECT count(*) FROM jobs WHERE status = 'done'")[0][0];
    };
    (void)done_there();  // from now on it has the log of the old file, and not the one of that name
    for (auto const* const suffix : {"", "-wal", "-shm"}) std::filesystem::remove(bed.beside(suffix));
    pause(1s);
    CHECK_FALSE(std::filesystem::exists(bed.file()));
    auto const then = done_there();
    std::filesystem::rename(backup.file(), bed.file());
    ordeal.ceased();
    CHECK(then == done_there());

    ordeal.fleet().stop();
    CHECK(ordeal.fleet().log().find("was moved, deleted or replaced while it was open") != std::string::npos);
    Verdict v;
    v.rows = 200, v.lost = v.rows - bed.done();
    v.settled_twice = bed.number(
        "SELECT count(*) FROM (SELECT key FROM settles WHERE status = 'done' GROUP BY key HAVING count(*) > "
        "1)");
    ordeal.report(v);
    CHECK(v.lost == 0);
    CHECK(v.settled_twice == 0);
}

}  // namespace

TEST_CASE("case 94: two processes are killed in their writes, leased") { kill_in_writes(Strategy::leased); }
TEST_CASE("case 94: two processes are killed in their writes, in transactions") {
    kill_in_writes(Strategy::in_transaction);
}
TEST_CASE("case 96: a reader blocks checkpoints for long, leased") { hold_a_snapshot(Strategy::leased); }
TEST_CASE("case 96: a reader blocks checkpoints for long, in transactions") {
    hold_a_snapshot(Strategy::in_transaction);
}
TEST_CASE("case 94: the file is locked for longer than the busy time-out, leased") {
    lock_file(Strategy::leased);
}
TEST_CASE("case 94: the file is locked for longer than the busy time-out, in transactions") {
    lock_file(Strategy::in_transaction);
}
TEST_CASE("case 101: the disk is full for a while, leased") { fill_disk(Strategy::leased); }
TEST_CASE("case 101: the disk is full for a while, in transactions") { fill_disk(Strategy::in_transaction); }
TEST_CASE("case 96, 101: the log fills the disk, leased") { log_fills_disk(Strategy::leased); }
TEST_CASE("case 96, 101: the log fills the disk, in transactions") {
    log_fills_disk(Strategy::in_transaction);
}
TEST_CASE("the file is moved away and back, leased") { move_file(Strategy::leased); }
TEST_CASE("the file is moved away and back, in transactions") { move_file(Strategy::in_transaction); }
TEST_CASE("the file is deleted and replaced by another one, leased") { replace_file(Strategy::leased); }
TEST_CASE("the file is deleted and replaced by another one, in transactions") {
    replace_file(Strategy::in_transaction);
}
