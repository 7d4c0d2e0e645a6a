# SPDX-License-Identifier: MIT
# cmake -DCOMPILER=… -DCASE=… -DINCLUDE=… -P check_case.cmake: one case, both ways.
# A text cannot be kept in a CMake list: it may hold a semicolon.
file(READ "${CASE}" source)
if(NOT source MATCHES "^// expect: ([^\n]+)\n")
    message(FATAL_ERROR "${CASE}: the first line must be  // expect: <text>")
endif()
set(expected "${CMAKE_MATCH_1}")

set(compile "${COMPILER}" -std=c++20 -fsyntax-only -fdiagnostics-color=never -Wall -Wextra -Werror "-I${INCLUDE}" "${CASE}")
execute_process(COMMAND ${compile} RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "does not compile even without its slip:\n${errors}")
endif()

set(ENV{LC_ALL} C.UTF-8)
execute_process(COMMAND ${compile} -DFILA_EXPECT_ERROR RESULT_VARIABLE status ERROR_VARIABLE errors)
if(status EQUAL 0)
    message(FATAL_ERROR "compiles although it should not; expected: ${expected}")
endif()
if(NOT errors MATCHES "error: ([^\n]*)")
    message(FATAL_ERROR "fails without an error line:\n${errors}")
endif()
set(first_error "${CMAKE_MATCH_1}")
string(FIND "${first_error}" "${expected}" at)
if(at EQUAL -1)
    message(FATAL_ERROR "the first error is\n  ${first_error}\nand not\n  ${expected}\n\n${errors}")
endif()

# Further slips of the same case may be reported in any order.
while(source MATCHES "\n// also: ([^\n]+)(\n.*)$")
    set(also "${CMAKE_MATCH_1}")
    set(source "${CMAKE_MATCH_2}")
    string(FIND "${errors}" "${also}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "no error says\n  ${also}\n\n${errors}")
    endif()
endwhile()
