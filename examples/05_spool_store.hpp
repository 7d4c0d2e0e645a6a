// SPDX-License-Identifier: MIT
// A store of one's own: files in a spool directory. First the directory, then the store, in less than sixty lines.
//
//   mv letter.txt spool/pending/          # is how work comes in
//   fila::Processor p{SpoolStore{"spool"}, fila::ThreadPool{4}, [](fs::path const& file) { send(file); }};
//
// Several processes may share a directory. The whole state is in it, so a killed process loses nothing: a
// file's room is its state, its time stamp says until when it waits (in pending/) or is leased (in work/),
// and its name carries the fence and the counters: work/7@2@0@letter.txt was claimed seven times and failed
// twice. What decides who owns a file is always one rename, which the file system makes atomic: it has one
// winner, and whoever comes with an old fence finds no file of that name. A claim reads the whole room: right
// for thousands of files, not for millions.
#pragma once

#include <fila/store/store_concept.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <tuple>

namespace fs = std::filesystem;

/// A directory with rooms, and files that carry their numbers in their names.
class SpoolDirectory {
public:
    using Time = fs::file_time_type;
    struct File {
        fs::path path;
        Time time;
        std::string key = path.filename().string();
        std::int64_t fence = 0;
        fila::History history{};
    };

    explicit SpoolDirectory(fs::path root) : root_{std::move(root)} {
        for (auto const* room : {"pending", "work", "failed"}) fs::create_directories(root_ / room);
    }
    static Time now() { return Time::clock::now(); }

    /// The files of one room, earliest first. One that was just put in has a name and no numbers: they are 0.
    std::vector<File> list(char const* room) const {
        std::vector<File> files;
        std::error_code gone;  // a file, by somebody else's hand: moving it will fail as well
        for (auto const& entry : fs::directory_iterator{root_ / room}) {
            auto& f = files.emplace_back(File{entry.path(), entry.last_write_time(gone)});
            auto& [failures, crashes] = f.history;
            int length = 0;
            std::sscanf(f.key.c_str(), "%" SCNd64 "@%u@%u@%n", &f.fence, &failures, &crashes, &length);
            f.key.erase(0, static_cast<std::size_t>(length));
        }
        std::ranges::sort(files, {}, [](File const& f) { return std::tie(f.time, f.key); });
        return files;
    }
    /// To the name that its numbers now make, and to wait there. Of several who move a file, one succeeds.
    bool move(File& file, char const* room, fila::Duration wait) const {
        auto name = std::to_string(file.fence) + '@' + std::to_string(file.history.failures) + '@';
        name += std::to_string(file.history.crashes) + '@' + file.key;
        auto const from = std::exchange(file.path, root_ / room / name);
        auto const then = now() + std::min<fila::Duration>(wait, std::chrono::years{100});
        std::error_code failed;
        // On its way a file must look neither due nor abandoned.
        fs::last_write_time(from, then + std::chrono::minutes{1}, failed);
        if (fs::rename(from, file.path, failed); failed) return false;
        fs::last_write_time(file.path, then, failed);
        return !failed;
    }
    bool remove(File const& file) const { return fs::remove(file.path); }

private:
    fs::path root_;
};

class SpoolStore {
public:
    using row_type = fs::path;     // where the file is while it is ours
    using key_type = std::string;  // its name
    // When the pass began: what is given back is stamped later than that, so the pass does not meet it again.
    using cursor_type = std::optional<SpoolDirectory::Time>;

    explicit SpoolStore(fs::path root) : spool_{std::move(root)} {}

    fila::ClaimResult<cursor_type> claim(fila::ClaimRequest<cursor_type> const& request,
                                         fila::Batch<row_type, key_type>& out) {
        auto const start = request.after.value_or(spool_.now());
        for (auto const full = out.size() + request.limit; auto& file : spool_.list("pending")) {
            if (file.time > start) break;
            if (out.size() == full) return {start, fila::Supply::more};
            ++file.fence;
            if (!spool_.move(file, "work", request.lease)) continue;  // somebody was faster
            out.add(file.key, file.fence, file.history, file.path);
        }
        return {start, fila::Supply::dry};
    }
    void settle(std::span<fila::Settlement<row_type, key_type> const> settlements,
                std::span<fila::Ack> acks) {
        for (std::size_t i = 0; auto const& [ticket, outcome, row] : settlements) {
            auto file = in_hand(ticket);
            acks[i++] = file && finish(*file, outcome) ? fila::Ack::applied : fila::Ack::lost;
        }
    }
    void extend(std::span<fila::Ticket<key_type> const> tickets, fila::Duration lease,
                std::span<fila::Ack> acks) {
        for (std::size_t i = 0; auto const& ticket : tickets) {
            auto file = in_hand(ticket);
            acks[i++] = file && spool_.move(*file, "work", lease) ? fila::Ack::applied : fila::Ack::lost;
        }
    }
    fila::Rescued rescue(fila::RescueLimits const& limits) {
        fila::Rescued rescued;
        for (auto& file : spool_.list("work")) {
            if (file.time > spool_.now() || rescued.rows() == limits.max_rows) break;
            bool const dead = ++file.history.crashes >= limits.max_crashes;
            if (!spool_.move(file, dead ? "failed" : "pending", {})) continue;  // settled at the last moment
            ++(dead ? rescued.dead : rescued.requeued);
        }
        return rescued;
    }

private:
    std::optional<SpoolDirectory::File> in_hand(fila::Ticket<key_type> const& ticket) const {
        for (auto& file : spool_.list("work"))
            if (file.key == ticket.key && file.fence == ticket.fence) return file;
        return std::nullopt;
    }
    bool finish(SpoolDirectory::File& file, fila::Outcome const& outcome) const {
        if (outcome.final() && !outcome.failure()) return spool_.remove(file);
        if (outcome.failure()) ++file.history.failures;
        return spool_.move(file, outcome.final() ? "failed" : "pending", outcome.delay());
    }

    SpoolDirectory spool_;
};
static_assert(fila::LeasingStore<SpoolStore>);
