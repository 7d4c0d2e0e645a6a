// SPDX-License-Identifier: MIT
// verify_packages: checks the files of the installed Debian packages against the checksums that came with them.
//
// Each package is a row of a table, and the table is the queue. Start it as often as you like on one database:
// the packages are shared. Kill it, and the next start goes on where it stood.
#include "dpkg_root.hpp"
#include "options.hpp"
#include "verify_table.hpp"
#include <fila/processor/stop_on_signal.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

namespace {

/// A complaint of several lines (a library's, a server's) as the one line that a terminal or a log wants.
int complain(std::string what, int exit_code) {
    while (what.ends_with('\n')) what.pop_back();
    std::ranges::replace_if(what, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    std::cerr << "verify_packages: " << what << '\n';
    return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        auto const options = parse_options(argc, argv);
        if (!options) return 0;
        fila::StopOnSignal const stop{SIGINT, SIGTERM};
        auto const root = given("", [&] { return dpkg::DpkgRoot{options->root}; });
        (options->postgres() ? verify_in_postgres : verify_in_sqlite)(*options, root, stop.token());
        return 0;
    } catch (CannotStart const& e) {
        return complain(e.what(), 2);
    } catch (std::exception const& e) {
        return complain(e.what(), 1);
    }
}
