// SPDX-License-Identifier: MIT
// Random histories, compared step by step with a model of a few lines. What no other rule thought of.
#pragma once

#include <fila/testing/store_rule.hpp>

#include <algorithm>
#include <random>
#include <string>

namespace fila::inline v1::testing {

/// One row as the model has it.
template <class Key>
struct ModelRow {
    Key key;                             ///< the store's
    RowState state = RowState::pending;  ///< what the store must say
    bool waits = false;                  ///< pending, but not due
    std::int64_t fence = 0;              ///< of the last claim
    History history{};                   ///< what the next claim must say
};

/// One random history of a store, beside a model.
template <StoreHarness H>
class ModelRun {
public:
    /// How the store is asked.
    using Probe = StoreProbe<H>;
    /// What the store handed out.
    using Taken = typename Probe::Taken;
    /// What the store promises.
    static constexpr StoreTraits traits = H::traits;
    /// Whether leases can be kept and run out.
    static constexpr bool leases = LeasingStore<typename H::store_type>;
    /// Whether dead rows can be redriven.
    static constexpr bool inspects = InspectableStore<typename H::store_type>;

    /// The same seed makes the same history.
    ModelRun(Probe& probe, unsigned seed) : p_{probe}, random_{seed}, seed_{seed} {}

    /// Ends the rule at the first step after which store and model differ.
    void run(int steps) {
        for (int step = 0; step < steps; ++step) {
            step_ = step;
            switch (pick(8)) {
                case 0:
                case 1:
                    put();
                    break;
                case 2:
                case 3:
                    claim();
                    break;
                case 4:
                case 5:
                    settle();
                    break;
                case 6:
                    pick(2) == 0 ? rescue() : extend();
                    break;
                default:
                    pick(2) == 0 ? make_due() : redrive();
                    break;
            }
        }
        for (auto const& row : rows_)
            check(p_.is(row.key, row.state), "every row is in the model's state at the end");
    }

private:
    using Row = ModelRow<typename Probe::Key>;

    std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_); }
    void check(bool ok, std::string_view sentence) {
        p_.require(ok, std::string{sentence} + " (seed " + std::to_string(seed_) + ", step " +
                           std::to_string(step_) + ")");
    }
    Row& row_of(typename Probe::Key const& key) {
        auto const row = std::ranges::find(rows_, key, &Row::key);
        check(row != rows_.end(), "only rows that were put in come out");
        return *row;
    }

    void put() {
        bool const waits = traits.delays && traits.delayed_put && pick(4) == 0;
        EnqueueOptions options{.delay = waits ? hours{1} : hours{0}};
        if (traits.ordered_by_priority) options.priority = static_cast<std::int64_t>(pick(3));
        rows_.push_back({p_.put(options), RowState::pending, waits});
    }
    /// A whole pass, or one claim from the start.
    void claim() {
        bool const whole = pick(2) == 0;
        auto const limit = pick(4) + 1;
        auto const claimed = whole ? p_.pass(limit) : p_.claim(limit);
        for (auto const& taken : claimed.rows) {
            auto& row = row_of(taken.ticket.key);
            check(row.state == RowState::pending && !row.waits,
                  "only rows that are pending and due are claimed");
            check(!traits.has_fence || taken.ticket.fence > row.fence, "the fence grows with each claim");
            check(!traits.counts_failures || taken.history.failures == row.history.failures,
                  "failures agree");
            check(!traits.counts_crashes || taken.history.crashes == row.history.crashes, "crashes agree");
            row.fence = taken.ticket.fence, row.state = RowState::processing;
            tickets_.push_back(taken);
        }
        auto const left = std::ranges::count_if(
            rows_, [](Row const& row) { return row.state == RowState::pending && !row.waits; });
        check(!whole || left == 0, "a whole pass takes every row that is due");
    }
    /// Any ticket ever had, so most are stale.
    Taken* any_ticket() {
        return tickets_.empty()
                   ? nullptr
                   : &tickets_[tickets_.size() - 1 - pick(std::min<std::size_t>(tickets_.size(), 8))];
    }
    bool current(Taken const& taken) {
        auto const& row = row_of(taken.ticket.key);
        return row.state == RowState::processing && (!traits.has_fence || row.fence == taken.ticket.fence);
    }
    void settle() {
        auto const* taken = any_ticket();
        if (!taken || (!traits.has_fence && !current(*taken))) return;
        auto& row = row_of(taken->ticket.key);
        bool const ours = current(*taken);
        Outcome outcome = complete();
        Row next = row;
        next.state = RowState::completed;
        switch (pick(traits.delays ? 6 : 4)) {
            case 0:
                break;
            case 1:
                outcome = discard("a duplicate"), next.state = RowState::discarded;
                break;
            case 2:
                outcome = dead_letter("no such account"), next.state = RowState::dead,
                ++next.history.failures;
                break;
            case 3:
                outcome = release(), next.state = RowState::pending;
                break;
            case 4:
                outcome = retry(hours{1}, "busy"), next.state = RowState::pending, next.waits = true;
                ++next.history.failures;
                break;
            default:
                outcome = snooze(hours{1}), next.state = RowState::pending, next.waits = true;
                break;
        }
        auto const ack = p_.settle(*taken, outcome);
        check((ack == Ack::applied) == ours,
              ours ? "a settle by the owner is applied" : "a settle by nobody is refused");
        if (ours) row = next;
    }
    void extend() {
        auto const* taken = any_ticket();
        if (!leases || !taken) return;
        check((p_.extend(*taken) == Ack::applied) == current(*taken),
              "an extend is applied if it is the owner's");
    }
    void rescue() {
        if (!leases) return;
        std::size_t stale = 0;
        for (auto& row : rows_) {
            if (row.state != RowState::processing || pick(2) == 0) continue;
            p_.expire(row.key);
            row.state = RowState::pending, ++row.history.crashes, ++stale;
        }
        check(p_.rescue({.max_crashes = 1000, .max_rows = 1000}).requeued == stale,
              "a rescue takes the stale rows");
    }
    void make_due() {
        auto const waiting = std::ranges::find_if(
            rows_, [](Row const& row) { return row.state == RowState::pending && row.waits; });
        if (waiting == rows_.end()) return;
        p_.make_due(waiting->key);
        waiting->waits = false;
    }
    void redrive() {
        auto const dead = std::ranges::find(rows_, RowState::dead, &Row::state);
        if (!inspects || dead == rows_.end()) return;
        check(p_.redrive({dead->key}) == 1, "a dead row is redriven");
        dead->state = RowState::pending, dead->history = {};
    }

    Probe& p_;
    std::mt19937 random_;
    unsigned seed_;
    int step_ = 0;
    std::vector<Row> rows_;
    std::vector<Taken> tickets_;
};

/// The suite of that name: ten random histories.
template <StoreHarness H>
constexpr auto model_rules() {
    return std::to_array<StoreRule<H>>({
        {"model: random histories agree with a model of ten lines", Skip{},
         [](StoreProbe<H>& p) {
             for (unsigned seed = 1; seed <= 10; ++seed) {
                 // A store of its own for each history, so that a seed alone can be run again.
                 H harness;
                 StoreProbe<H> probe{harness, p.findings};
                 ModelRun<H>{probe, seed}.run(80);
             }
         }},
    });
}

}  // namespace fila::inline v1::testing
