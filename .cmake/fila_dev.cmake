# SPDX-License-Identifier: MIT
# fila_dev: what our own tests and examples are compiled with, and nobody else's code.
add_library(fila_dev INTERFACE)
target_compile_options(fila_dev INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(fila_dev INTERFACE -fconcepts-diagnostics-depth=3)
endif()

if(FILA_SANITIZE)
    if(NOT FILA_SANITIZE MATCHES "^(address,undefined|address|undefined|thread)$")
        message(FATAL_ERROR "fila: FILA_SANITIZE is '${FILA_SANITIZE}'; it may be address,undefined or thread")
    endif()
    target_compile_options(fila_dev INTERFACE
        -fsanitize=${FILA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # A check at every pointer doubles the time to compile, and the address sanitizer catches what they find.
    if(FILA_SANITIZE STREQUAL "address,undefined")
        target_compile_options(fila_dev INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
    endif()
    target_link_options(fila_dev INTERFACE -fsanitize=${FILA_SANITIZE})
    target_compile_definitions(fila_dev INTERFACE FILA_TESTS_ARE_SANITIZED)
endif()
