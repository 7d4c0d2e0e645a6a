// expect: fila harness: needs  key_type put(std::int64_t n, fila::EnqueueOptions const&)
// also: fila harness: must be default constructible: one for each rule
// also: fila harness: needs  static constexpr std::string_view name  and  static constexpr fila::testing::StoreTraits
// also: fila harness: needs  using store_type = …;  and  store_type& store()
// also: fila harness: needs  fila::RowState state(key_type const&)
// also: fila harness: the store leases, so it needs  void expire(key_type const&)
// also: fila harness: traits.delays needs  void make_due(key_type const&)
// also: fila harness: traits.peers needs  store_type& peer()
// also: fila harness: traits.durable needs  void reopen()
// expect: fila harness: name has a comma, semicolon, bracket or backslash
#include "parts.hpp"
#include <fila/testing/store_harness.hpp>

struct LeasingJobStore : JobStore {
    void extend(std::span<fila::Ticket<int> const>, fila::Duration, std::span<fila::Ack>) {}
    fila::Rescued rescue(fila::RescueLimits const&) { return {}; }
};

struct Harness {
    using store_type = LeasingJobStore;
#if FILA_EXPECT_ERROR == 2
    static constexpr std::string_view name = "jobs; of two kinds";
#else
    static constexpr std::string_view name = "jobs";
#endif
    static constexpr fila::testing::StoreTraits traits{.peers = true, .durable = true};
    store_type& store();
#if FILA_EXPECT_ERROR != 1
    int put(std::int64_t, fila::EnqueueOptions const&);
    fila::RowState state(int);
    void expire(int);
    void make_due(int);
    store_type& peer();
    void reopen();
#endif
};
static_assert(fila::testing::check_harness<Harness>());

#if FILA_EXPECT_ERROR == 1
struct Nothing {
    explicit Nothing(int);
};
static_assert(fila::testing::check_harness<Nothing>());
#endif

int main() {}
