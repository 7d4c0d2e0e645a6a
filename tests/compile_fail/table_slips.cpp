// expect: fila::table: a key cannot be a std::optional
// also: fila::table: a key is an integer, text, fila::Bytes or fila::Uuid
// also: fila::table<Row>: this member belongs to another class than Row
// also: fila::table: no codec for this member's type: specialise fila::codec<T>
// also: fila::table: this is mapped twice; say it once
// also: fila::table<Row>: Row must be default constructible and movable: it is filled column by column
// expect: fila::table<Row>: say which column is the key: .key("id", &Row::id)
// also: fila::table<Row>: say which column holds the status: .status("status")
// expect: fila::table<Row>: .split() wants .lease_until(…), .fence(…) and .owner(…)
// also: fila::table<Row>: .split() takes no .where(…): what waits has no other columns
#include <fila/table.hpp>

#include <cstdint>
#include <optional>

struct Other {
    std::int64_t id = 0;
};
struct Plain {
    int* address = nullptr;
};
struct Row {
    std::int64_t id = 0;
    std::optional<std::int64_t> parent;
    double weight = 0;
    Plain plain;
};
struct Fixed {
    explicit Fixed(int);
};

constexpr auto whole =
    fila::table<Row>("t").key("id", &Row::id).column("weight", &Row::weight).status("status");
static_assert(fila::detail::check_table<decltype(whole)>());

#if FILA_EXPECT_ERROR == 1
constexpr auto optional_key = fila::table<Row>("t").key("parent", &Row::parent);
constexpr auto real_key = fila::table<Row>("t").key("weight", &Row::weight);
constexpr auto foreign = fila::table<Row>("t").column("id", &Other::id);
constexpr auto undecodable = fila::table<Row>("t").column("plain", &Row::plain);
constexpr auto twice = fila::table<Row>("t").status("a").status("b");
constexpr auto fixed = fila::table<Fixed>("t");
#elif FILA_EXPECT_ERROR == 2
constexpr auto empty = fila::table<Row>("t");
static_assert(fila::detail::check_table<decltype(empty)>());
#elif FILA_EXPECT_ERROR == 3
constexpr auto unleased = whole.where("weight > 1").split();
static_assert(fila::detail::check_table<decltype(unleased)>());
#else
constexpr auto split = whole.lease_until("until").fence("fence").owner("owner").split();
static_assert(fila::detail::check_table<decltype(split)>());
#endif

int main() {}
