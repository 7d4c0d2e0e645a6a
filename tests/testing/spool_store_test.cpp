// SPDX-License-Identifier: MIT
// The example store of a spool directory keeps the promises of a leasing, durable store that processes may
// share.
#include <fila/testing/store_conformance.hpp>

#include <chrono>
#include <examples/05_spool_store.hpp>
#include <fstream>
#include <random>
#include <regex>
#include <string>

namespace {

class SpoolHarness {
public:
    using store_type = SpoolStore;
    static constexpr std::string_view name = "spool directory";
    static constexpr fila::testing::StoreTraits traits{
        .ordered_by_priority = false, .peers = true, .durable = true};

    SpoolHarness() { reopen(); }
    ~SpoolHarness() { fs::remove_all(root_); }

    store_type& store() { return *store_; }
    store_type& peer() { return *peer_; }
    void reopen() {
        store_.emplace(root_);
        peer_.emplace(root_);
    }
    std::string put(std::int64_t n, fila::EnqueueOptions const& options) {
        auto const key = "letter " + std::to_string(1'000'000'000 + n) + ".txt";
        std::ofstream{root_ / key} << n;
        touch(root_ / key, options.delay);
        fs::rename(root_ / key, root_ / "pending" / key);
        return key;
    }
    std::int64_t number(fs::path const& row) {
        std::int64_t n = 0;
        std::ifstream{row} >> n;
        return n;
    }
    void expire(std::string const& key) { touch(find("work", key), -std::chrono::seconds{1}); }
    void make_due(std::string const& key) { touch(find("pending", key), {}); }
    fila::RowState state(std::string const& key) {
        if (!find("pending", key).empty()) return fila::RowState::pending;
        if (!find("work", key).empty()) return fila::RowState::processing;
        return find("failed", key).empty() ? fila::RowState::absent : fila::RowState::dead;
    }

private:
    static void touch(fs::path const& file, fila::Duration from_now) {
        fs::last_write_time(file, fs::file_time_type::clock::now() +
                                      std::min<fila::Duration>(from_now, std::chrono::years{100}));
    }
    fs::path find(char const* room, std::string const& key) {
        for (auto const& entry : fs::directory_iterator{root_ / room}) {
            auto const file = entry.path().filename().string();
            if (file == key || file.ends_with("@" + key)) return entry.path();
        }
        return {};
    }
    static fs::path fresh_directory() {
        std::random_device random;
        auto const root =
            fs::temp_directory_path() / ("fila-spool-" + std::to_string(random()) + std::to_string(random()));
        fs::create_directories(root);
        return root;
    }

    fs::path root_ = fresh_directory();
    std::optional<store_type> store_, peer_;
};

}  // namespace

FILA_STORE_CONFORMANCE(SpoolHarness)

TEST_CASE("a store of one's own takes less than sixty lines of code") {
    std::ifstream source{FILA_SPOOL_STORE};
    REQUIRE(source);
    std::regex const empty{R"(\s*(//.*)?)"};
    int lines = 0;
    bool inside = false;
    for (std::string line; std::getline(source, line);) {
        if (line.starts_with("class SpoolStore")) inside = true;
        lines += inside && !std::regex_match(line, empty) ? 1 : 0;
        if (line == "};") inside = false;
    }
    INFO(lines << " lines");
    CHECK(lines > 20);
    CHECK(lines < 60);
}
