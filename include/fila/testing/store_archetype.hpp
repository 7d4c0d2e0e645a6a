// SPDX-License-Identifier: MIT
// Store archetypes: models of the store concepts that can do what is required and nothing more.
//
//   fila::testing::StoreArchetype store{3};
//   fila::Processor p{store, fila::InlineExecutor{}, [](fila::testing::RowArchetype const&) {}};
//
// What compiles with these compiles with every store: whoever uses a copy of a row, an order of keys, or a member
// that the concept does not name, is found here. They work, in memory: rows are claimed in order, and a row that is
// given back is met by the next pass. Thread safety: that of any store.
#pragma once

#include <fila/store/store_concept.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

/// Can be moved.
class RowArchetype {
public:
    /// The number tells rows apart.
    explicit RowArchetype(std::size_t number) noexcept : number_{number} {}
    RowArchetype(RowArchetype&&) noexcept = default;
    RowArchetype& operator=(RowArchetype&&) noexcept = default;
    /// The one it was made with.
    [[nodiscard]] std::size_t number() const noexcept { return number_; }

private:
    std::size_t number_;
};

/// Can be copied and compared for equality.
class KeyArchetype {
public:
    /// The place of the row, from 0.
    explicit KeyArchetype(std::size_t index) noexcept : index_{index} {}
    friend bool operator==(KeyArchetype const&, KeyArchetype const&) = default;
    /// The place of the row, from 0.
    [[nodiscard]] std::size_t index() const noexcept { return index_; }

private:
    std::size_t index_;
};

/// Semiregular: has no equality.
struct CursorArchetype {
    std::size_t next = 0;  ///< the place where the next claim begins
};

namespace detail {

/// What an archetype and its transactions share.
struct ArchetypeRows {
    enum class State : std::uint8_t { pending, held, done };
    struct Row {
        State state = State::pending;
        std::int64_t fence = 0;
        History history{};
    };
    using ArchetypeBatch = Batch<RowArchetype, KeyArchetype>;

    ClaimResult<CursorArchetype> claim(ClaimRequest<CursorArchetype> const& request, ArchetypeBatch& out) {
        std::lock_guard lock{mutex};
        auto at = request.after.next;
        for (std::size_t taken = 0; at < rows.size() && taken < request.limit; ++at) {
            auto& row = rows[at];
            if (row.state != State::pending) continue;
            row.state = State::held;
            out.add(KeyArchetype{at}, ++row.fence, row.history, RowArchetype{at});
            ++taken;
        }
        return {{at}, at == rows.size() ? Supply::dry : Supply::more};
    }
    Ack settle(Settlement<RowArchetype, KeyArchetype> const& s) {
        std::lock_guard lock{mutex};
        auto& row = rows.at(s.ticket.key.index());
        if (row.state != State::held || row.fence != s.ticket.fence) return Ack::lost;
        row.state = s.outcome.final() ? State::done : State::pending;
        if (s.outcome.failure()) ++row.history.failures;
        return Ack::applied;
    }
    [[nodiscard]] Ack owned(Ticket<KeyArchetype> const& t) {
        std::lock_guard lock{mutex};
        auto const& row = rows.at(t.key.index());
        return row.state == State::held && row.fence == t.fence ? Ack::applied : Ack::lost;
    }

    std::mutex mutex;
    std::vector<Row> rows;
};

}  // namespace detail

/// Two verbs and three types. A claim is for good, and a row cannot wait: it says so.
class StoreArchetype {
public:
    using row_type = RowArchetype;
    using key_type = KeyArchetype;
    using cursor_type = CursorArchetype;
    template <class Ability>
    static constexpr bool offers = !std::same_as<Ability, ability::delay>;

    /// With rows 0 … `rows` - 1.
    explicit StoreArchetype(std::size_t rows = 0) { shared_->rows.resize(rows); }
    StoreArchetype(StoreArchetype&&) noexcept = default;
    StoreArchetype& operator=(StoreArchetype&&) noexcept = default;

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, Batch<row_type, key_type>& out) {
        return shared_->claim(request, out);
    }
    void settle(std::span<Settlement<row_type, key_type> const> settlements, std::span<Ack> acks) {
        for (std::size_t i = 0; i < settlements.size(); ++i) acks[i] = shared_->settle(settlements[i]);
    }

protected:
    /// With the transactions that are open.
    std::shared_ptr<detail::ArchetypeRows> shared_ = std::make_shared<detail::ArchetypeRows>();
};

/// Leases that never run out, so that a rescue finds nothing.
class LeasingStoreArchetype : public StoreArchetype {
public:
    using StoreArchetype::StoreArchetype;

    void extend(std::span<Ticket<key_type> const> tickets, Duration, std::span<Ack> acks) {
        for (std::size_t i = 0; i < tickets.size(); ++i) acks[i] = shared_->owned(tickets[i]);
    }
    Rescued rescue(RescueLimits const&) { return {}; }
};

/// Without savepoints: commit or nothing.
class TransactionArchetype {
public:
    using row_type = RowArchetype;
    using key_type = KeyArchetype;
    using cursor_type = CursorArchetype;

    /// Made by `begin` of a TransactionalStoreArchetype.
    explicit TransactionArchetype(std::shared_ptr<detail::ArchetypeRows> rows) : rows_{std::move(rows)} {}
    TransactionArchetype(TransactionArchetype&&) noexcept = default;
    TransactionArchetype& operator=(TransactionArchetype&& o) noexcept {
        std::swap(rows_, o.rows_), claimed_.swap(o.claimed_), settled_.swap(o.settled_);
        return *this;
    }
    ~TransactionArchetype() {
        for (auto const& ticket : claimed_) rows_->settle({ticket, release(), nullptr});
    }

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, Batch<row_type, key_type>& out) {
        auto const before = static_cast<std::ptrdiff_t>(out.tickets().size());
        auto const result = rows_->claim(request, out);
        claimed_.insert(claimed_.end(), out.tickets().begin() + before, out.tickets().end());
        return result;
    }
    void settle(std::span<Settlement<row_type, key_type> const> settlements, std::span<Ack> acks) {
        for (std::size_t i = 0; i < settlements.size(); ++i) {
            acks[i] = rows_->owned(settlements[i].ticket);
            if (acks[i] == Ack::applied)
                settled_.push_back({settlements[i].ticket, settlements[i].outcome, nullptr});
        }
    }
    void commit() {
        for (auto const& s : std::exchange(settled_, {})) rows_->settle(s);
    }

private:
    std::shared_ptr<detail::ArchetypeRows> rows_;
    std::vector<Ticket<key_type>> claimed_;
    std::vector<Settlement<row_type, key_type>> settled_;
};

/// One transaction can always be begun.
class TransactionalStoreArchetype : public StoreArchetype {
public:
    using transaction_type = TransactionArchetype;
    using StoreArchetype::StoreArchetype;

    [[nodiscard]] std::optional<transaction_type> begin() { return transaction_type{shared_}; }
};

static_assert(Store<StoreArchetype> && !LeasingStore<StoreArchetype> && !TransactionalStore<StoreArchetype>);
static_assert(LeasingStore<LeasingStoreArchetype>);
static_assert(TransactionalStore<TransactionalStoreArchetype> && !SavepointTransaction<TransactionArchetype>);

}  // namespace fila::inline v1::testing
