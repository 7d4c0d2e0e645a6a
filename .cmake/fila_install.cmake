# SPDX-License-Identifier: MIT
# The package: find_package(fila) gives the core alone, COMPONENTS sqlite postgres testing the others.
include(CMakePackageConfigHelpers)

set(fila_config_dir "${CMAKE_INSTALL_DATADIR}/fila")
configure_package_config_file(.cmake/fila-config.cmake.in fila-config.cmake INSTALL_DESTINATION "${fila_config_dir}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(fila-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)

install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/fila-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/fila-config-version.cmake"
    .cmake/fila_find_libpqxx.cmake
    DESTINATION "${fila_config_dir}" COMPONENT fila)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/fila" COMPONENT fila)
