// SPDX-License-Identifier: MIT
// MemoryCore: the rows of a MemoryStore and what may happen to them. Knows no clock, no mutex and no verb.
#pragma once

#include <fila/store/paged_slots.hpp>
#include <fila/store/row_runs.hpp>
#include <fila/store/row_state.hpp>
#include <fila/store/store_concept.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// A row of a MemoryStore as it stands, for tests and for people.
template <class Row>
struct MemoryRow {
    std::int64_t key = 0;                ///< from 1, never used again
    Row row;                             ///< as it was put in, or as the last handler left it
    RowState state = RowState::pending;  ///< finished ones: see MemoryOptions
    bool locked = false;                 ///< by an open transaction
    std::int64_t fence = 0;              ///< of the last claim
    History history{};                   ///< failures and crashes so far
    std::int64_t priority = 0;           ///< smaller goes first
    TimePoint due{};                     ///< not claimed before
    TimePoint lease_until{};             ///< means something while the row is processing
    std::string error{};                 ///< why the last attempt failed, or the row was discarded
    std::string word{};                  ///< the handler's own final status: complete("paid")
};

namespace detail {

template <class Row>
class MemoryCore {
public:
    using Key = std::int64_t;
    using RowTicket = Ticket<Key>;
    enum class Hold : std::uint8_t { lease, lock };

    explicit MemoryCore(bool keep_finished) : keep_finished_{keep_finished} {}

    // ---- rows come in ---------------------------------------------------------------------------

    /// Answers the key of the first; the others follow.
    Key add(std::span<Row> rows, std::int64_t priority, TimePoint due) {
        auto const first = records_.next_key();
        if (rows.empty()) return first;
        for (auto& row : rows) records_.append(Record{records_.next_key(), std::move(row), priority, due});
        pending_.insert({priority, due, first}, records_.next_key() - 1);
        pending_count_ += rows.size();
        return first;
    }

    // ---- rows are taken -------------------------------------------------------------------------

    /// Appends to `out`; answers how many. `position` follows. A row whose copy throws is broken.
    std::size_t take(std::optional<RowPosition>& position, TimePoint start, std::size_t limit,
                     Batch<Row, Key>& out, Hold hold, TimePoint lease_until) {
        return pending_.take(std::optional{position}, start, limit, [&](Key key) {
            auto& r = *records_.find(key);
            lend(key, r, out);
            ++r.fence;
            if (hold == Hold::lock) {
                r.locked = true;
            } else {
                r.lease_until = lease_until;
                r.state = RowState::processing;
                --pending_count_;
                link(r);
            }
            position = RowPosition{r.priority, r.due, key};
        });
    }
    /// Ends a lock that nothing was settled under.
    void unlock(Key key) {
        auto& r = *records_.find(key);
        r.locked = false;
        pending_.insert({r.priority, r.due, key});
    }

    // ---- rows are settled -----------------------------------------------------------------------

    /// Whether the ticket's row is held by its lease. `left`: the row as the handler left it, or null.
    bool settle(RowTicket const& t, Outcome const& outcome, Row const* left, TimePoint now) {
        auto* r = held(t);
        if (r) settle(*r, outcome, left, now);
        return r;
    }
    /// Of a row that is held by lock.
    void settle_locked(Key key, Outcome const& outcome, Row const* left, TimePoint now) {
        settle(*records_.find(key), outcome, left, now);
    }

    // ---- leases ---------------------------------------------------------------------------------

    [[nodiscard]] bool extend(RowTicket const& t, TimePoint until) {
        auto* r = held(t);
        if (r) r->lease_until = until;
        return r != nullptr;
    }
    Rescued rescue(RescueLimits const& limits, TimePoint now) {
        Rescued rescued;
        for (auto* held = oldest_held_; held && rescued.rows() < limits.max_rows;) {
            auto& r = *held;
            held = r.next_held;
            if (r.lease_until <= now) {
                let_go(r);
                if (++r.history.crashes >= limits.max_crashes) {
                    bury(r, "its owner died too often");
                    ++rescued.dead;
                } else {
                    make_pending(r);
                    ++rescued.requeued;
                }
            }
        }
        return rescued;
    }

    // ---- people ---------------------------------------------------------------------------------

    [[nodiscard]] Counts counts(std::size_t at_most) const {
        return {std::min(pending_count_, at_most), std::min(held_count_, at_most),
                std::min(dead_count_, at_most)};
    }
    [[nodiscard]] std::vector<DeadLetter<Row, Key>> dead_letters(std::size_t at_most) {
        std::vector<DeadLetter<Row, Key>> letters;
        dead_.each([&](Key key) {
            if (letters.size() == at_most) return false;
            letters.push_back(letter(key));
            return true;
        });
        return letters;
    }
    /// Takes a dead row out.
    [[nodiscard]] DeadLetter<Row, Key> exhume(Key key) {
        auto taken = letter(key);
        unbury(key);
        records_.erase(key);
        return taken;
    }
    /// The due time stays, it has passed: so the row keeps its place in the order.
    bool redrive(Key key) {
        auto* r = records_.find(key);
        if (!r || r->state != RowState::dead) return false;
        unbury(key);
        r->history = {};
        make_pending(*r);
        return true;
    }
    [[nodiscard]] std::vector<Key> dead_keys() const {
        std::vector<Key> keys;
        dead_.each([&](Key key) { return keys.push_back(key), true; });
        return keys;
    }

    [[nodiscard]] std::optional<MemoryRow<Row>> find(Key key) {
        auto* r = records_.find(key);
        if (!r) return std::nullopt;
        return MemoryRow<Row>{key,
                              r->row,
                              r->state,
                              r->locked,
                              r->fence,
                              r->history,
                              r->priority,
                              r->due,
                              r->lease_until,
                              Record::said(r->error),
                              Record::said(r->word)};
    }
    bool expire(Key key, TimePoint now) {
        auto* r = records_.find(key);
        if (!r || r->state != RowState::processing) return false;
        r->lease_until = now;
        return true;
    }
    bool make_due(Key key, TimePoint now) {
        auto* r = records_.find(key);
        if (!r || r->state != RowState::pending || r->locked) return false;
        if (r->due <= now) return true;
        pending_.remove({r->priority, r->due, key});
        r->due = now;
        pending_.insert({r->priority, r->due, key});
        return true;
    }

private:
    struct Record {
        Record(Key k, Row r, std::int64_t p, TimePoint d) : key{k}, row{std::move(r)}, priority{p}, due{d} {}

        Key key;
        Row row;
        std::int64_t fence = 0;
        std::int64_t priority;
        TimePoint due;
        TimePoint lease_until{};
        Record *next_held = nullptr, *previous_held = nullptr;
        std::unique_ptr<std::string> error, word;  // rare
        History history{};
        RowState state = RowState::pending;
        bool locked = false;

        static void say(std::unique_ptr<std::string>& to, std::string_view text) {
            to = std::make_unique<std::string>(text);
        }
        static std::string said(std::unique_ptr<std::string> const& text) {
            return text ? *text : std::string{};
        }
    };

    static void lend(Key key, Record const& r, Batch<Row, Key>& out) {
        std::optional<Row> row;
        try {
            row.emplace(r.row);
        } catch (std::exception const& e) {
            return out.add_broken(key, r.fence + 1, r.history, e.what());
        }
        out.add(key, r.fence + 1, r.history, std::move(*row));
    }
    [[nodiscard]] Record* held(RowTicket const& t) {
        auto* r = records_.find(t.key);
        return r && r->state == RowState::processing && r->fence == t.fence ? r : nullptr;
    }
    [[nodiscard]] bool stays(Outcome::Kind kind) const {
        return keep_finished_ || (kind != Outcome::Kind::complete && kind != Outcome::Kind::discard);
    }

    [[nodiscard]] DeadLetter<Row, Key> letter(Key key) {
        auto const& r = *records_.find(key);
        DeadLetter<Row, Key> letter{key, std::nullopt, r.history, Record::said(r.error)};
        try {
            letter.row = r.row;
        } catch (std::exception const& e) {
            if (letter.error.empty()) letter.error = e.what();
        }
        return letter;
    }
    void settle(Record& r, Outcome const& outcome, Row const* left, TimePoint now) {
        if (left && stays(outcome.kind())) r.row = *left;
        let_go(r);
        switch (outcome.kind()) {
            case Outcome::Kind::complete:
                return finish(r, RowState::completed, outcome.text());
            case Outcome::Kind::discard:
                return finish(r, RowState::discarded, outcome.text());
            case Outcome::Kind::dead_letter:
                ++r.history.failures;
                return bury(r, outcome.text());
            case Outcome::Kind::retry:
                ++r.history.failures;
                r.say(r.error, outcome.text());
                return wait(r, now, outcome.delay());
            case Outcome::Kind::snooze:
                return wait(r, now, outcome.delay());
            case Outcome::Kind::release:
                return make_pending(r);
        }
    }
    /// After this the row is neither held nor pending: what follows says what it is.
    void let_go(Record& r) {
        if (r.locked) {
            r.locked = false;
            --pending_count_;
        } else {
            unlink(r);
        }
    }
    void make_pending(Record& r) {
        r.state = RowState::pending;
        ++pending_count_;
        pending_.insert({r.priority, r.due, r.key});
    }
    /// Strictly later than now, so that a pass which began now cannot meet the row again.
    void wait(Record& r, TimePoint now, Duration delay) {
        r.due = later(now, std::max(delay, Duration{1}));
        make_pending(r);
    }
    void bury(Record& r, std::string_view why) {
        r.state = RowState::dead;
        r.say(r.error, why);
        dead_.insert({.key = r.key});
        ++dead_count_;
    }
    void unbury(Key key) {
        dead_.remove({.key = key});
        --dead_count_;
    }
    void finish(Record& r, RowState state, std::string_view text) {
        if (!keep_finished_) return records_.erase(r.key);
        r.state = state;
        if (!text.empty()) r.say(state == RowState::completed ? r.word : r.error, text);
    }

    // Rows that are held by lease, oldest claim first, so that a rescue looks at no other row.
    void link(Record& r) {
        r.previous_held = newest_held_;
        r.next_held = nullptr;
        (newest_held_ ? newest_held_->next_held : oldest_held_) = &r;
        newest_held_ = &r;
        ++held_count_;
    }
    void unlink(Record& r) {
        (r.previous_held ? r.previous_held->next_held : oldest_held_) = r.next_held;
        (r.next_held ? r.next_held->previous_held : newest_held_) = r.previous_held;
        --held_count_;
    }

    PagedSlots<Record> records_;
    RowRuns pending_, dead_;
    std::size_t pending_count_ = 0;  // locked ones included: their status says pending
    std::size_t held_count_ = 0, dead_count_ = 0;
    Record *oldest_held_ = nullptr, *newest_held_ = nullptr;
    bool keep_finished_;
};

}  // namespace detail
}  // namespace fila::inline v1
