// SPDX-License-Identifier: MIT
// The same for drivers of SQL databases.
#include <fila/table/driver_concept.hpp>

#include <chrono>
#include <cstddef>
#include <string_view>

namespace {

struct Config {};
struct Connection {
    explicit Connection(Config const&);
    void run(fila::Statement const&, fila::Bindings const&, fila::detail::DriverProbe);
    void run_rows(fila::Statement const&, fila::Bindings const&, fila::Rows const&,
                  fila::detail::DriverProbe);
    void begin();
    void commit();
    bool rollback() noexcept;
    bool in_transaction() const noexcept;
    void savepoint();
    void defer_savepoint();
    void release_savepoint();
    bool rollback_to_savepoint();
    int handle();
    void script(std::string_view);
    fila::Catalogue catalogue(fila::TableName const&);
    bool served_by_index(fila::Statement const&);
    bool lost() const noexcept;
};
template <class C>
struct Examining {
    static void examine(C&, fila::Examination&);
};
template <class C>
struct Deaf {};
template <class C>
struct OfCopies {
    static void examine(C const&, fila::Examination const&);
};
template <class C>
struct WithoutAnswer {
    static void examine(C&);
};
template <class C, template <class> class Examiner = Examining>
struct Archetype : Examiner<C> {
    using Config = ::Config;
    using Connection = C;
    static constexpr bool one_writer = true;
    static constexpr bool sorts = true;
    static fila::Dialect dialect(Config const&);
    static std::size_t connections(Config const&);
    static std::chrono::milliseconds patience(Config const&);
};
static_assert(fila::Driver<Archetype<Connection>>);
static_assert(fila::detail::check_driver<Archetype<Connection>>());

static_assert(fila::Driver<Archetype<Connection, OfCopies>>, "an examiner may promise to change nothing");
static_assert(!fila::Driver<Archetype<Connection, Deaf>>, "there is no examiner");
static_assert(!fila::Driver<Archetype<Connection, WithoutAnswer>>, "what it finds goes nowhere");

struct MayThrow : Connection {
    using Connection::Connection;
    bool rollback();
};
struct LosesSilently : Connection {
    using Connection::Connection;
    void lost() const noexcept;
};
struct Unplanned : Connection {
    using Connection::Connection;
    void served_by_index(fila::Statement const&);
};
struct NoHandle : Connection {
    using Connection::Connection;
    void handle() = delete;
};
struct NotFromConfig : Connection {
    NotFromConfig();
};
static_assert(!fila::Driver<Archetype<MayThrow>>, "rollback is called where nothing may be thrown");
static_assert(!fila::Driver<Archetype<LosesSilently>>);
static_assert(!fila::Driver<Archetype<Unplanned>>);
static_assert(!fila::Driver<Archetype<NoHandle>>);
static_assert(!fila::Driver<Archetype<NotFromConfig>>);

struct Finishing : Connection {
    using Connection::Connection;
    bool finish(fila::Statement const&, fila::Bindings const&, fila::Rows const&);
    bool can_finish() const noexcept;
};
struct NeverSaysWhether : Connection {
    using Connection::Connection;
    bool finish(fila::Statement const&, fila::Bindings const&, fila::Rows const&);
};
struct FinishesSilently : Finishing {
    using Finishing::Finishing;
    void finish(fila::Statement const&, fila::Bindings const&, fila::Rows const&);
};
static_assert(fila::FinishingConnection<Finishing> && fila::Driver<Archetype<Finishing>>);
static_assert(!fila::FinishingConnection<Connection> && !fila::FinishingConnection<NeverSaysWhether> &&
              !fila::FinishingConnection<FinishesSilently>);

struct NotSorted : Archetype<Connection> {
    static constexpr struct Unknown {
    } sorts{};
};
struct NoPatience : Archetype<Connection> {
    static int patience(::Config const&);
};
static_assert(!fila::Driver<NotSorted>);
static_assert(!fila::Driver<NoPatience>);

}  // namespace
