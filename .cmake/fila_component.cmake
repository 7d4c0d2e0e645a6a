# SPDX-License-Identifier: MIT
# fila_component(<target> EXPORT_NAME <x> BASE_DIR <include root> [ONLY <dir>] [EXCLUDE <dir>] [LINK …])
#
# A header-only library fila::<x> with the headers below BASE_DIR, installed as the component <x>, and each
# header compiled alone by all_verify_interface_header_sets.
function(fila_component target)
    cmake_parse_arguments(arg "" "EXPORT_NAME;BASE_DIR;ONLY;EXCLUDE" "LINK" ${ARGN})

    # The one place where the list of headers is made.
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${arg_BASE_DIR}/fila/*.hpp")
    if(arg_ONLY)
        list(FILTER headers INCLUDE REGEX "^${arg_BASE_DIR}/${arg_ONLY}[/.]")
    endif()
    if(arg_EXCLUDE)
        list(FILTER headers EXCLUDE REGEX "^${arg_BASE_DIR}/${arg_EXCLUDE}[/.]")
    endif()

    add_library(${target} INTERFACE)
    add_library(fila::${arg_EXPORT_NAME} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_EXPORT_NAME})
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS "${arg_BASE_DIR}" FILES ${headers})
    target_link_libraries(${target} INTERFACE ${arg_LINK})

    if(FILA_INSTALL)
        install(TARGETS ${target} EXPORT fila_${arg_EXPORT_NAME} COMPONENT ${arg_EXPORT_NAME}
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${arg_EXPORT_NAME})
        install(EXPORT fila_${arg_EXPORT_NAME} NAMESPACE fila:: COMPONENT ${arg_EXPORT_NAME}
            FILE fila-${arg_EXPORT_NAME}.cmake DESTINATION "${CMAKE_INSTALL_DATADIR}/fila")
    endif()
endfunction()
