// SPDX-License-Identifier: MIT
// verify_packages as a process: killed, started twice, told to stop, told nonsense.
#include "verify_packages_run.hpp"

#include <algorithm>
#include <random>
#include <support/catch.hpp>

using namespace fila_test;

namespace {

/// `packages` packages of one file each; `size` says how long one takes.
void fill(PackageRoot& root, std::size_t packages, std::uintmax_t size) {
    for (std::size_t i = 0; i < packages; ++i) {
        auto const name = "made" + std::to_string(i);
        root.add_package(name, "usr/share/" + name + "/data", name, size);
    }
    root.record_sums();
}

bool one_line(std::string const& text) {
    return std::ranges::count(text, '\n') == 1 && text.back() == '\n' && text.size() < 400;
}

constexpr std::uintmax_t megabyte = 1024 * 1024;

}  // namespace

namespace {

void kill_ten_times(PackageRoot& root, Database const& database) {
    fill(root, 300, megabyte);
    RunLogReader const log{root.beside("runs")};
    auto const command = verify_packages(root, database.address(),
                                         {"--run-log", log.path(), "--lease", "3", "--workers", "2"});
    auto const seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937 random{seed};
    for (int kill = 0; kill < 10; ++kill) {
        // At most 250 of the 300 packages: there is always something left to do, and to be killed at.
        auto const moment = log.size() + std::uniform_int_distribution<std::size_t>{0, 50}(random);
        ChildProcess victim{command};
        wait_until([&] { return victim.ended() || log.size() >= moment; }, "the moment to kill");
        victim.signal(SIGKILL);
        auto const killed = victim.wait();
        INFO(killed.err);
        CHECK(killed.signal == SIGKILL);
        log.died(victim.pid());
    }
    auto const last = run(command);
    INFO(last.err);
    CHECK(last.exit_code == 0);
    CHECK(database.counts() == std::map<std::string, std::size_t>{{"ok", 300}});
    CHECK(printed_counts(last.out) == database.counts());
    CHECK(log.overlaps().empty());
}

bool has_open(pid_t pid, fs::path const& file) {
    std::error_code gone;
    for (fs::directory_iterator it{"/proc/" + std::to_string(pid) + "/fd", gone}, end; it != end;
         it.increment(gone))
        if (std::error_code closed; fs::read_symlink(it->path(), closed) == file) return true;
    return false;
}

}  // namespace

TEST_CASE("verify_packages: killed at ten random moments, no package is left, none is run by two at once") {
    PackageRoot root;
    kill_ten_times(root, SqliteFile{root.beside("packages.db")});
}

TEST_CASE("verify_packages: killed at ten random moments, the same on PostgreSQL") {
    auto const database = PostgresDatabase::create();
    if (!database) {
        WARN("SKIPPED: FILA_TEST_POSTGRES names no server");
        return;
    }
    PackageRoot root;
    kill_ten_times(root, *database);
}

TEST_CASE("verify_packages: two processes at once share the work, and enqueue it once") {
    PackageRoot root;
    fill(root, 300, 2 * megabyte);
    auto const file = root.beside("packages.db");
    SqliteFile const database{file};
    RunLogReader const log{root.beside("runs")};
    auto const command = verify_packages(root, database.address(),
                                         {"--run-log", log.path(), "--workers", "1", "--batch", "8"});

    // Held back until both are there: which one the system starts first shall not matter.
    auto gate = database.lock();
    ChildProcess first{command}, second{command};
    wait_until([&] { return has_open(first.pid(), file) && has_open(second.pid(), file); }, "two processes");
    gate.reset();
    auto const one = first.wait(), two = second.wait();
    INFO(one.err << two.err);
    CHECK(one.exit_code == 0);
    CHECK(two.exit_code == 0);
    CHECK(database.counts() == std::map<std::string, std::size_t>{{"ok", 300}});
    CHECK(log.overlaps().empty());
    auto const ends = log.ends_by_process();
    REQUIRE(ends.size() == 2);
    for (auto const& [pid, checked] : ends) CHECK(checked >= 60);
}

TEST_CASE("verify_packages: SIGTERM ends it in order, and the next start goes on") {
    PackageRoot root;
    fill(root, 120, 3 * megabyte);
    SqliteFile const database{root.beside("packages.db")};
    RunLogReader const log{root.beside("runs")};
    auto const command = verify_packages(root, database.address(), {"--run-log", log.path()});

    ChildProcess process{command};
    wait_until([&] { return process.ended() || log.size() > 20; }, "work in the middle");
    process.signal(SIGTERM);
    auto const stopped = process.wait();
    INFO(stopped.err);
    CHECK(stopped.exit_code == 0);
    auto const counts = database.counts();
    CHECK(counts.count("processing") == 0);
    CHECK(counts.at("pending") > 0);
    CHECK(counts.at("ok") > 0);
    CHECK(printed_counts(stopped.out) == counts);
    CHECK(database.query("SELECT sum(failures) + sum(crashes) FROM packages")[0][0] == "0");

    auto const resumed = run(command);
    CHECK(resumed.exit_code == 0);
    CHECK(database.counts() == std::map<std::string, std::size_t>{{"ok", 120}});
    auto const again = run(command);
    CHECK(again.exit_code == 0);
    CHECK(again.out.find("checked 0 packages") != std::string::npos);
}

TEST_CASE("verify_packages: each claim strategy on each database gives the same verdicts") {
    PackageRoot root;
    fill(root, 60, 0);
    append(root.path_of("usr/share/made7/data"), "altered");
    fs::remove(root.path_of("usr/share/made8/data"));
    fs::remove(root.info() / "made9.md5sums");
    auto const check = [&](Database const& database, std::string const& claim) {
        INFO(database.address() << ' ' << claim);
        auto const result = run(
            verify_packages(root, database.address(), {"--claim", claim, "--workers", "3", "--batch", "16"}));
        INFO(result.err);
        CHECK(result.exit_code == 0);
        CHECK(database.counts() == std::map<std::string, std::size_t>{
                                       {"missing", 1}, {"modified", 1}, {"ok", 57}, {"unknown", 1}});
        CHECK(printed_counts(result.out) == database.counts());
        CHECK(database.query("SELECT differences FROM packages WHERE status = 'modified'")[0][0] ==
              "modified usr/share/made7/data");
    };
    for (std::string const claim : {"leased", "in-transaction"}) {
        check(SqliteFile{root.beside(claim + ".db")}, claim);
        if (auto const database = PostgresDatabase::create())
            check(*database, claim);
        else
            WARN("SKIPPED: FILA_TEST_POSTGRES names no server");
    }
}

TEST_CASE("verify_packages: progress is a bar on a terminal, plain lines elsewhere") {
    PackageRoot root;
    fill(root, 3, 0);
    auto const line = [](std::vector<std::string> const& command) {
        std::string text;
        for (auto const& word : command) text += word + ' ';
        return text;
    };
    // script(1) runs a command on a terminal of its own.
    auto const on_terminal = run({"script", "--quiet", "--return", "--command",
                                  line(verify_packages(root, root.beside("one.db").string())), "/dev/null"});
    CHECK(on_terminal.exit_code == 0);
    CHECK(on_terminal.out.find("\r[########################################] 3 of 3") != std::string::npos);
    auto const elsewhere = run(verify_packages(root, root.beside("two.db").string()));
    CHECK(elsewhere.err.find("checked 3 of 3") != std::string::npos);
    CHECK(elsewhere.err.find('\r') == std::string::npos);
}

TEST_CASE("verify_packages: what it cannot use is one clear line and exit code 2") {
    PackageRoot root;
    fill(root, 1, 0);
    auto const database = root.beside("packages.db").string();
    auto const refused = [](std::vector<std::string> const& command, std::string const& word) {
        auto const result = run(command);
        INFO(result.out << result.err);
        CHECK(result.exit_code == 2);
        CHECK(result.out.empty());
        CHECK(one_line(result.err));
        CHECK(result.err.find(word) != std::string::npos);
    };
    refused(verify_packages(root, database, {"--wrokers", "3"}), "--wrokers");
    refused(verify_packages(root, database, {"--workers", "0"}), "--workers");
    refused(verify_packages(root, database, {"--workers", "many"}), "--workers");
    refused(verify_packages(root, database, {"--claim", "stolen"}), "--claim");
    refused(verify_packages(root, database, {"--lease", "-1"}), "--lease");
    refused(verify_packages(root, "/nowhere/at/all/packages.db"), "/nowhere/at/all/packages.db");
    refused(verify_packages(root, "postgresql://%%%"), "cannot use the database");
    refused(verify_packages(root, "postgresql:///none?host=/nowhere&user=nobody"), "/nowhere");
    append(root.beside("text.db"), std::string(4096, 'x'));
    refused(verify_packages(root, root.beside("text.db").string()), "not a database");
    refused({VERIFY_PACKAGES, "--root", root.beside("").string(), "--database", database},
            "var/lib/dpkg/status");
    CHECK(run({VERIFY_PACKAGES, "--help"}).exit_code == 0);
}
