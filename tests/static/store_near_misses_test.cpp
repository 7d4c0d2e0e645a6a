// SPDX-License-Identifier: MIT
// The same for stores and their refinements.
#include "support/catch.hpp"
#include <fila/store/store_concept.hpp>

#include <memory>

namespace {

/// Move-only rows without a default constructor: the least that a row must be.
struct Row {
    explicit Row(int);
    std::unique_ptr<int> payload;
};
struct Cursor {
    int at = 0;
    bool operator==(Cursor const&) const = default;
};
using Request = fila::ClaimRequest<Cursor>;
using Rows = fila::Batch<Row, int>;
using Settlements = std::span<fila::Settlement<Row, int> const>;
using Tickets = std::span<fila::Ticket<int> const>;
using Acks = std::span<fila::Ack>;
using Result = fila::ClaimResult<Cursor>;

struct Types {
    using row_type = Row;
    using key_type = int;
    using cursor_type = Cursor;
};
struct Archetype : Types {
    Result claim(Request const&, Rows&);
    void settle(Settlements, Acks);
};
static_assert(fila::Store<Archetype>);

struct NoTypes {
    Result claim(Request const&, Rows&);
    void settle(Settlements, Acks);
};
struct KeyWithoutEquality : Archetype {
    struct key_type {};
};
struct NoClaim : Types {
    void settle(Settlements, Acks);
};
struct NoSettle : Types {
    Result claim(Request const&, Rows&);
};
struct ClaimReturnsCursor : Types {
    Cursor claim(Request const&, Rows&);
    void settle(Settlements, Acks);
};
struct SettleReturns : Types {
    Result claim(Request const&, Rows&);
    bool settle(Settlements, Acks);
};
struct SettlesOne : Types {
    Result claim(Request const&, Rows&);
    void settle(fila::Settlement<Row, int> const&, Acks);
};
static_assert(!fila::Store<NoTypes>);
static_assert(!fila::Store<KeyWithoutEquality> && !fila::HasKeyType<KeyWithoutEquality>);
static_assert(!fila::Store<NoClaim> && fila::HasSettle<NoClaim>);
static_assert(!fila::Store<NoSettle> && fila::HasClaim<NoSettle>);
static_assert(!fila::Store<ClaimReturnsCursor>);
static_assert(!fila::Store<SettleReturns>);
static_assert(!fila::Store<SettlesOne>);

struct Leasing : Archetype {
    void extend(Tickets, fila::Duration, Acks);
    fila::Rescued rescue(fila::RescueLimits const&);
};
struct ExtendOnly : Archetype {
    void extend(Tickets, fila::Duration, Acks);
};
struct RescueCounts : Archetype {
    void extend(Tickets, fila::Duration, Acks);
    std::size_t rescue(fila::RescueLimits const&);
};
struct LeasesOnly : Types {
    void extend(Tickets, fila::Duration, Acks);
    fila::Rescued rescue(fila::RescueLimits const&);
};
static_assert(fila::LeasingStore<Leasing>);
static_assert(!fila::LeasingStore<Archetype> && !fila::LeasingStore<ExtendOnly>);
static_assert(!fila::LeasingStore<RescueCounts> && !fila::LeasingStore<LeasesOnly>);

struct Tx : Archetype {
    void commit();
};
struct CopyOnlyTx : Tx {
    CopyOnlyTx& operator=(CopyOnlyTx&&) = delete;
};
struct SavepointTx : Tx {
    void mark();
    void back();
};
struct MarkOnlyTx : Tx {
    void mark();
};
static_assert(fila::Transaction<Tx> && fila::SavepointTransaction<SavepointTx>);
static_assert(!fila::Transaction<Archetype> && !fila::Transaction<CopyOnlyTx>);
static_assert(!fila::SavepointTransaction<Tx> && !fila::SavepointTransaction<MarkOnlyTx>);

struct FinishingTx : Tx {
    void finish(Settlements, Acks);
};
struct AnswersTx : Tx {
    bool finish(Settlements, Acks);
};
struct OnlyFinishes : Archetype {
    void finish(Settlements, Acks);
};
static_assert(fila::FinishingTransaction<FinishingTx>);
static_assert(!fila::FinishingTransaction<Tx> && !fila::FinishingTransaction<AnswersTx>);
static_assert(!fila::FinishingTransaction<OnlyFinishes>);

struct Transactional : Archetype {
    using transaction_type = Tx;
    std::optional<Tx> begin();
};
struct BeginBlocks : Archetype {  // says nothing about "none is free": it would have to wait
    using transaction_type = Tx;
    Tx begin();
};
struct NoCommit : Archetype {
    using transaction_type = Archetype;
    std::optional<Archetype> begin();
};
struct OtherTx : Tx {
    using key_type = long;
    fila::ClaimResult<Cursor> claim(Request const&, fila::Batch<Row, long>&);
    void settle(std::span<fila::Settlement<Row, long> const>, Acks);
};
struct OtherKey : Archetype {
    using transaction_type = OtherTx;
    std::optional<OtherTx> begin();
};
static_assert(fila::TransactionalStore<Transactional>);
static_assert(!fila::TransactionalStore<Archetype> && !fila::TransactionalStore<BeginBlocks>);
static_assert(!fila::TransactionalStore<NoCommit>);
static_assert(fila::Transaction<OtherTx> && !fila::TransactionalStore<OtherKey>);

struct Closable : Archetype {
    bool closed() const;
};
struct ClosedReturnsInt : Archetype {
    int closed() const;
};
struct ClosedIsNotConst : Archetype {
    bool closed();
};
static_assert(fila::ClosableStore<Closable>);
static_assert(!fila::ClosableStore<Archetype> && !fila::ClosableStore<ClosedReturnsInt>);
static_assert(!fila::ClosableStore<ClosedIsNotConst>);

struct Notifying : Archetype {
    std::unique_ptr<int> subscribe(std::function<void()>);
};
struct SubscribesForEver : Archetype {
    void subscribe(std::function<void()>);
};
struct SubscribesTheWrongWay : Archetype {
    std::unique_ptr<int> subscribe(std::function<void(int)>);
};
static_assert(fila::NotifyingStore<Notifying>);
static_assert(!fila::NotifyingStore<Archetype> && !fila::NotifyingStore<SubscribesForEver>);
static_assert(!fila::NotifyingStore<SubscribesTheWrongWay>);

struct Immediate : Archetype {
    [[maybe_unused]] static constexpr bool immediate = true;
};
struct NotImmediate : Archetype {
    [[maybe_unused]] static constexpr bool immediate = false;
};
struct ImmediateOnly {
    [[maybe_unused]] static constexpr bool immediate = true;
};
static_assert(fila::ImmediateStore<Immediate>);
static_assert(!fila::ImmediateStore<Archetype> && !fila::ImmediateStore<NotImmediate>);
static_assert(!fila::ImmediateStore<ImmediateOnly>);

struct Enqueuing : Archetype {
    std::size_t enqueue(std::span<Row const>, fila::EnqueueOptions);
};
struct EnqueuesOne : Archetype {
    std::size_t enqueue(Row const&, fila::EnqueueOptions);
};
struct EnqueueSaysNothing : Archetype {
    void enqueue(std::span<Row const>, fila::EnqueueOptions);
};
static_assert(fila::EnqueuingStore<Enqueuing>);
static_assert(!fila::EnqueuingStore<Archetype> && !fila::EnqueuingStore<EnqueuesOne>);
static_assert(!fila::EnqueuingStore<EnqueueSaysNothing>);

struct Inspectable : Archetype {
    fila::Counts counts(std::size_t);
    std::vector<fila::DeadLetter<Row, int>> dead_letters(std::size_t);
    std::size_t redrive(std::span<int const>);
    std::size_t redrive_all();
};
struct CountsEverything : Inspectable {  // unbounded: the dearest statement of all
    fila::Counts counts();
};
struct RedriveAllOnly : Archetype {
    fila::Counts counts(std::size_t);
    std::size_t redrive_all();
};
static_assert(fila::InspectableStore<Inspectable>);
static_assert(!fila::InspectableStore<Archetype> && !fila::InspectableStore<CountsEverything>);
static_assert(!fila::InspectableStore<RedriveAllOnly>);

}  // namespace

TEST_CASE("a store and its refinements accept their archetypes and refuse near misses") {
    SUCCEED("it compiles");
}
