# SPDX-License-Identifier: MIT
# Makes fila_lmdb, for an example and its tests. LMDB ships no CMake package, and not everywhere a file for pkg-config.
if(NOT TARGET fila_lmdb)
    find_path(FILA_LMDB_INCLUDE_DIR lmdb.h)
    find_library(FILA_LMDB_LIBRARY lmdb)
    mark_as_advanced(FILA_LMDB_INCLUDE_DIR FILA_LMDB_LIBRARY)
    if(FILA_LMDB_INCLUDE_DIR AND FILA_LMDB_LIBRARY)
        add_library(fila_lmdb INTERFACE IMPORTED GLOBAL)
        target_include_directories(fila_lmdb INTERFACE "${FILA_LMDB_INCLUDE_DIR}")
        target_link_libraries(fila_lmdb INTERFACE "${FILA_LMDB_LIBRARY}")
    endif()
endif()
