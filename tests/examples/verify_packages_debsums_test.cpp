// SPDX-License-Identifier: MIT
// The verdicts of verify_packages are those of debsums, package by package, file by file.
#include "verify_packages_run.hpp"

#include <regex>
#include <support/catch.hpp>

using namespace fila_test;

namespace {

using Verdicts =
    std::map<std::string, std::pair<std::string, std::set<std::string>>>;  // package: status, files

/// What debsums says without --all: it leaves out configuration files, as verify_packages does.
Verdicts debsums(PackageRoot const& root, std::vector<std::string> const& packages) {
    auto const result = run({"debsums", "--root=" + root.path().string(), "--silent"});
    INFO(result.err);
    REQUIRE((result.exit_code == 0 || result.exit_code == 2));
    Verdicts verdicts;
    for (auto const& package : packages) verdicts[package] = {"ok", {}};
    std::regex const file{"debsums: (changed|missing) file (\\S+) \\(from ([^ :]+)\\S* package\\)"};
    std::regex const irregular{"debsums: can't check ([^ :]+)\\S* file (\\S+) \\(not a regular file\\)"};
    std::regex const no_sums{"debsums: no md5sums for ([^ :]+)\\S*"};
    auto const relative = [&](std::string const& path) {
        return path.substr(root.path().string().size() + 1);
    };
    std::istringstream lines{result.err};
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        std::smatch m;
        if (std::regex_match(line, m, file)) {
            auto& [status, files] = verdicts.at(m[3]);
            bool const missing = m[1] == "missing";
            if (status != "missing") status = missing ? "missing" : "modified";
            files.insert((missing ? "missing " : "modified ") + relative(m[2]));
        } else if (std::regex_match(line, m, irregular)) {
            auto& [status, files] = verdicts.at(m[1]);
            if (status == "ok") status = "modified";
            files.insert("modified " + relative(m[2]) + " (not a regular file)");
        } else if (std::regex_match(line, m, no_sums)) {
            verdicts.at(m[1]).first = "unknown";
        } else {
            FAIL("debsums said something that this test does not know");
        }
    }
    return verdicts;
}

Verdicts table_of(Database const& database) {
    Verdicts verdicts;
    for (auto const& row : database.query("SELECT package, status, differences FROM packages")) {
        auto& [status, files] = verdicts[row[0]];
        status = row[1];
        std::istringstream lines{row[2]};
        for (std::string line; std::getline(lines, line);) files.insert(line);
    }
    return verdicts;
}

/// Programs are in every image; documentation and translations are left out of slim ones.
std::vector<std::string> programs(PackageRoot const& root, std::string const& package) {
    std::vector<std::string> paths;
    std::istringstream sums{read_file(root.info() / (package + ".md5sums"))};
    for (std::string md5, path; sums >> md5 >> path;)
        if (path.find("bin/") != std::string::npos) paths.push_back(path);
    return paths;
}

}  // namespace

TEST_CASE("verify_packages: the verdicts are those of debsums on a root with files altered and removed") {
    if (run({"sh", "-c", "command -v debsums"}).exit_code != 0) {
        WARN("SKIPPED: debsums is not installed");
        return;
    }
    PackageRoot root;
    std::vector<std::string> packages;
    for (auto const* name :
         {"base-files", "sed", "gzip", "hostname", "bsdutils", "dash", "libgcc-s1", "debianutils"})
        if (root.copy_installed(name)) packages.emplace_back(name);
    REQUIRE(packages.size() == 8);
    if (fs::exists("/var/lib/dpkg/diversions"))
        fs::copy_file("/var/lib/dpkg/diversions", root.admin() / "diversions");

    // Altered, removed, both, and no sums at all.
    append(root.path_of(programs(root, "sed").at(0)), "altered");
    fs::remove(root.path_of(programs(root, "gzip").at(0)));
    append(root.path_of(programs(root, "bsdutils").at(0)), "altered");
    fs::remove(root.path_of(programs(root, "bsdutils").at(1)));
    fs::remove(root.info() / "hostname.md5sums");
    // Configuration files are the administrator's: altered and removed, and no business of either program.
    append(root.path_of("etc/issue"), "altered");
    fs::remove(root.path_of("etc/debian_version"));

    auto const make = [&](std::string const& name, std::string const& path, std::string const& more = "",
                          std::string const& architecture = "all") {
        root.add_package(name, path, name, 0, architecture, more);
        packages.push_back(name);
    };
    make("fila-same", "usr/lib/fila-same", "Multi-Arch: same\n", "amd64");
    make("fila-foreign", "usr/lib/fila-foreign", "", "armhf");
    make("fila-directory", "usr/lib/fila-directory");
    make("fila-link", "usr/share/fila-link/data");
    make("fila-excluded", "usr/share/doc/fila-excluded/readme");
    make("fila-included", "usr/share/doc/fila-included/copyright");
    make("fila-diverted", "usr/bin/fila-diverted");
    make("fila-taken", "usr/bin/fila-taken");
    make("fila-listed-config", "etc/fila.conf",
         "Conffiles:\n /etc/fila.conf d41d8cd98f00b204e9800998ecf8427e\n");
    root.record_sums();

    // An absolute link leads to the private root, not out of it.
    fs::create_directory(root.path_of("srv"));
    fs::rename(root.path_of("usr/share/fila-link"), root.path_of("srv/fila-link"));
    fs::create_symlink("/srv/fila-link", root.path_of("usr/share/fila-link"));
    fs::remove(root.path_of("usr/lib/fila-directory"));
    fs::create_directory(root.path_of("usr/lib/fila-directory"));
    append(root.path_of("usr/lib/fila-same"), "altered");
    append(root.path_of("usr/lib/fila-foreign"), "altered");
    append(root.path_of("etc/fila.conf"), "altered");
    // A slim image: documentation left out, copyright files kept.
    append(root.path_of("etc/dpkg/dpkg.cfg.d/slim"),
           "path-exclude=/usr/share/doc/*\npath-include /usr/share/doc/*/copyright\n");
    fs::remove(root.path_of("usr/share/doc/fila-excluded/readme"));
    fs::remove(root.path_of("usr/share/doc/fila-included/copyright"));
    // Diverted by another package, and shared with one.
    fs::rename(root.path_of("usr/bin/fila-diverted"), root.path_of("usr/bin/fila-diverted.real"));
    append(root.path_of("usr/bin/fila-diverted"), "another's");
    append(root.admin() / "diversions", "/usr/bin/fila-diverted\n/usr/bin/fila-diverted.real\nfila-taken\n");
    append(root.path_of("usr/bin/fila-taken"), "another's");
    append(root.info() / "sed.list", "/usr/bin/fila-taken\n");

    auto const expected = debsums(root, packages);
    CHECK(expected.at("sed").first == "modified");
    CHECK(expected.at("gzip").first == "missing");
    CHECK(expected.at("bsdutils").first == "missing");
    CHECK(expected.at("bsdutils").second.size() == 2);
    CHECK(expected.at("hostname").first == "unknown");
    CHECK(expected.at("base-files").first == "ok");

    SqliteFile const database{root.beside("packages.db")};
    auto const result = run(verify_packages(root, database.address()));
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    auto const verdicts = table_of(database);
    CHECK(verdicts.size() == expected.size());
    for (auto const& [package, verdict] : expected) {
        INFO(package << ": debsums says " << verdict.first);
        CHECK(verdicts.at(package).first == verdict.first);
        CHECK(verdicts.at(package).second == verdict.second);
    }
    CHECK(database.query("SELECT error FROM packages WHERE package = 'hostname'")[0][0].find(
              "without checksums") != std::string::npos);
    CHECK(printed_counts(result.out) == database.counts());
}
