# SPDX-License-Identifier: MIT
# Makes libpqxx::pqxx. Debian 12 ships libpqxx without a CMake package: pkg-config knows it.
find_package(libpqxx CONFIG QUIET GLOBAL)
if(NOT TARGET libpqxx::pqxx)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(FILA_PQXX QUIET IMPORTED_TARGET GLOBAL libpqxx>=6.4)
        if(FILA_PQXX_FOUND)
            add_library(libpqxx::pqxx INTERFACE IMPORTED GLOBAL)
            target_link_libraries(libpqxx::pqxx INTERFACE PkgConfig::FILA_PQXX)
        endif()
    endif()
endif()
