// SPDX-License-Identifier: MIT
// The command line, read by CLI11.
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <string>

std::optional<Options> parse_options(int argc, char const* const* argv) {
    Options options;
    std::string claim = "leased";
    double lease = 5;
    CLI::App app{
        "Checks the files of the installed Debian packages against their recorded checksums, as a queue"};
    app.add_option("--root", options.root, "Directory whose packages are checked")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    app.add_option("--database", options.database, "An SQLite file, or postgresql://…")
        ->capture_default_str();
    app.add_option("--workers", options.workers, "Packages checked at a time")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    app.add_option("--claim", claim, "How a package becomes ours: leased, or in-transaction")
        ->check(CLI::IsMember({"leased", "in-transaction"}))
        ->capture_default_str();
    app.add_option("--batch", options.batch, "Packages of one claim; 0 adapts")
        ->check(CLI::Range(0, 100'000))
        ->capture_default_str();
    app.add_option("--lease", lease, "Seconds until the packages of a dead process are taken over")
        ->check(CLI::Range(0.1, 86'400.0))
        ->capture_default_str();
    app.add_option("--run-log", options.run_log, "Append a line at the start and the end of each check")
        ->group("");
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
        if (e.get_exit_code() != 0) throw CannotStart{std::string{e.what()} + " (--help lists the options)"};
        app.exit(e);
        return std::nullopt;
    }
    options.in_transaction = claim == "in-transaction";
    options.lease = std::chrono::milliseconds{static_cast<std::chrono::milliseconds::rep>(lease * 1000)};
    return options;
}
