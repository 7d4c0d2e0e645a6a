// expect: fila driver: needs  using Config = …;  and  using Connection = …;
// expect: fila driver: Connection needs  run(Statement const&, Bindings const&, on_row)  and  run_rows(Statement const&,
// also: fila driver: Connection needs  begin, commit, bool rollback() noexcept, bool in_transaction() const noexcept,
// also: fila driver: finishing at once is both  bool finish(Statement const&, Bindings const&, Rows const&)  and
// also: fila driver: Connection needs  script(std::string_view), Catalogue catalogue(TableName const&), bool served_by_
// also: fila driver: needs  examine(Connection&, Examination&), which may do nothing
// also: fila driver: needs  Config, Connection(Config const&), bool lost() const noexcept, dialect(config),
#include <fila/table.hpp>

struct Driver {
#if FILA_EXPECT_ERROR != 1
    struct Config {};
    struct Connection {
        explicit Connection(Config const&) {}
#if FILA_EXPECT_ERROR != 2
        void run(fila::Statement const&, fila::Bindings const&, fila::detail::DriverProbe) {}
        void run_rows(fila::Statement const&, fila::Bindings const&, fila::Rows const&,
                      fila::detail::DriverProbe) {}
        void begin() {}
        void commit() {}
        bool rollback() noexcept { return true; }
        bool in_transaction() const noexcept { return false; }
        void savepoint() {}
        void defer_savepoint() {}
        void release_savepoint() {}
        bool rollback_to_savepoint() { return true; }
        int handle() { return 0; }
        void script(std::string_view) {}
        fila::Catalogue catalogue(fila::TableName const&) { return {}; }
        bool served_by_index(fila::Statement const&) { return true; }
        bool lost() const noexcept { return false; }
#else
        bool can_finish() const { return true; }
#endif
    };
#endif
#if FILA_EXPECT_ERROR == 0
    static constexpr bool one_writer = true;
    static constexpr bool sorts = true;
    static fila::Dialect dialect(Config const&);
    static std::size_t connections(Config const&) { return 1; }
    static std::chrono::milliseconds patience(Config const&) { return {}; }
    static void examine(Connection&, fila::Examination&) {}
#endif
};
static_assert(fila::detail::check_driver<Driver>());

int main() {}
