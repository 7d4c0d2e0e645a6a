# SPDX-License-Identifier: MIT
# An overlay port: the sources are the repository around it. vcpkg sees a change of this directory, not one of the
# sources: after an update of the repository that leaves the version as it is, remove the package and install it again.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release) # headers only

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        postgres FILA_WITH_POSTGRES
        sqlite   FILA_WITH_SQLITE
        testing  FILA_WITH_TESTING
)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DFILA_BUILD_TESTS=OFF
        -DFILA_BUILD_EXAMPLES=OFF
        -DFILA_INSTALL=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
