// expect: fila store: leases need both  void extend(std::span<fila::Ticket<key_type> const>, fila::Duration, std::span<
// also: fila store: transaction_type needs the types and the two verbs of a store, and  void commit();
// also: fila store: transaction_type needs the row_type, key_type and cursor_type of its store
// also: fila store: savepoints of a transaction are  void mark()  and  void back()
// also: fila store: finish of a transaction is  void finish(
// also: fila store: has a transaction_type and needs  std::optional<transaction_type> begin()
// also: fila store: closed is  bool closed() const
// also: fila store: subscribe takes a std::function<void()> and returns what ends the subscription
// also: fila store: enqueue is  std::size_t enqueue(std::span<row_type const>, fila::EnqueueOptions)
// also: fila store: inspection needs all of  fila::Counts counts(std::size_t)
#include "parts.hpp"

#ifdef FILA_EXPECT_ERROR
#define SLIP(right, slip) slip
#else
#define SLIP(right, slip) right
#endif

struct Leasing : JobStore {
    void extend(std::span<fila::Ticket<int> const>, fila::Duration, std::span<fila::Ack>) {}
    SLIP(fila::Rescued, std::size_t) rescue(fila::RescueLimits const&) { return {}; }
};
static_assert(fila::detail::check_store<Leasing>());

struct Tx : JobStore {
    void commit() {}
};
struct Uncommitted : JobStore {
    using transaction_type = SLIP(Tx, JobStore);
    std::optional<transaction_type> begin() { return transaction_type{}; }
};
static_assert(fila::detail::check_store<Uncommitted>());

struct OtherRows : JobStore {
    using row_type = long;
    result_type claim(request_type const& r, fila::Batch<long, int>&) { return {r.after, fila::Supply::dry}; }
    void settle(std::span<fila::Settlement<long, int> const>, std::span<fila::Ack>) {}
    void commit() {}
};
struct Foreign : JobStore {
    using transaction_type = SLIP(Tx, OtherRows);
    std::optional<transaction_type> begin() { return transaction_type{}; }
};
static_assert(fila::detail::check_store<Foreign>());

struct MarkingTx : Tx {
    void mark() {}
    SLIP(void, bool) back() { return SLIP(, {}); }
};
struct Marking : JobStore {
    using transaction_type = MarkingTx;
    std::optional<MarkingTx> begin() { return MarkingTx{}; }
};
static_assert(fila::detail::check_store<Marking>());

struct FinishingTx : Tx {
    void finish(SLIP(settlements_type, int), std::span<fila::Ack>) {}
};
struct Finishing : JobStore {
    using transaction_type = FinishingTx;
    std::optional<FinishingTx> begin() { return FinishingTx{}; }
};
static_assert(fila::detail::check_store<Finishing>());

struct Waiting : JobStore {
    using transaction_type = Tx;
    SLIP(std::optional<Tx>, Tx) begin() { return Tx{}; }
};
static_assert(fila::detail::check_store<Waiting>());

struct Closable : JobStore {
    bool closed() SLIP(const, ) { return false; }
};
static_assert(fila::detail::check_store<Closable>());

struct Notifying : JobStore {
    int subscribe(SLIP(std::function<void()>, int)) { return 0; }
};
static_assert(fila::detail::check_store<Notifying>());

struct Enqueuing : JobStore {
    SLIP(std::size_t, int) enqueue(std::span<Job const>, fila::EnqueueOptions = {}) { return 0; }
};
static_assert(fila::detail::check_store<Enqueuing>());

struct Inspectable : JobStore {
    fila::Counts counts(std::size_t) { return {}; }
    std::vector<fila::DeadLetter<Job, int>> dead_letters(std::size_t) { return {}; }
    std::size_t redrive(SLIP(std::span<int const>, std::vector<long> const&)) { return 0; }
    std::size_t redrive_all() { return 0; }
};
static_assert(fila::detail::check_store<Inspectable>());

int main() {}
