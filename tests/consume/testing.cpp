// SPDX-License-Identifier: MIT
// A store of somebody else's, with the two verbs and nothing more, held to the rules.
#include <fila/testing/store_conformance.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace {

struct Cursor {
    std::size_t next = 0;
};

/// Numbers on a pile. Claims are for good, and what is given back is for the next pass.
class Pile {
public:
    using row_type = std::int64_t;
    using key_type = std::size_t;
    using cursor_type = Cursor;

    key_type put(row_type n) {
        std::lock_guard lock{mutex_};
        sheets_.push_back({n});
        return sheets_.size() - 1;
    }
    fila::RowState state(key_type key) {
        std::lock_guard lock{mutex_};
        return sheets_.at(key).state;
    }
    fila::ClaimResult<Cursor> claim(fila::ClaimRequest<Cursor> const& request,
                                    fila::Batch<row_type, key_type>& out) {
        std::lock_guard lock{mutex_};
        auto at = request.after.next;
        for (auto const full = out.size() + request.limit; at < sheets_.size() && out.size() < full; ++at) {
            auto& sheet = sheets_[at];
            if (sheet.state != fila::RowState::pending) continue;
            sheet.state = fila::RowState::processing;
            out.add(at, ++sheet.fence, sheet.history, sheet.n);
        }
        return {{at}, at == sheets_.size() ? fila::Supply::dry : fila::Supply::more};
    }
    void settle(std::span<fila::Settlement<row_type, key_type> const> settlements,
                std::span<fila::Ack> acks) {
        std::lock_guard lock{mutex_};
        for (std::size_t i = 0; auto const& [ticket, outcome, row] : settlements) {
            auto& sheet = sheets_.at(ticket.key);
            bool const ours = sheet.state == fila::RowState::processing && sheet.fence == ticket.fence;
            acks[i++] = ours ? fila::Ack::applied : fila::Ack::lost;
            if (!ours) continue;
            if (outcome.failure()) ++sheet.history.failures;
            sheet.state = after(outcome.kind());
        }
    }

private:
    static fila::RowState after(fila::Outcome::Kind kind) {
        using enum fila::Outcome::Kind;
        if (kind == complete) return fila::RowState::completed;
        if (kind == discard) return fila::RowState::discarded;
        return kind == dead_letter ? fila::RowState::dead : fila::RowState::pending;
    }
    struct Sheet {
        row_type n;
        fila::RowState state = fila::RowState::pending;
        std::int64_t fence = 0;
        fila::History history{};
    };
    std::mutex mutex_;
    std::vector<Sheet> sheets_;
};

struct PileHarness {
    using store_type = Pile;
    static constexpr std::string_view name = "pile";
    static constexpr fila::testing::StoreTraits traits{
        .ordered_by_priority = false, .delays = false, .delayed_put = false, .counts_crashes = false};

    Pile& store() { return pile; }
    std::size_t put(std::int64_t n, fila::EnqueueOptions const&) { return pile.put(n); }
    std::int64_t number(std::int64_t row) { return row; }
    fila::RowState state(std::size_t key) { return pile.state(key); }

    Pile pile;
};

}  // namespace

FILA_STORE_CONFORMANCE(PileHarness)
