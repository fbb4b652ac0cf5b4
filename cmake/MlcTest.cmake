# Of all sources alike, since a precompiled header is only taken with the macros that it was made with.
# With one, GCC 12 also reports what it takes for errors inside its own std::string.
set(MLC_TEST_OPTIONS ${MLC_COLD} -pthread
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)

# mlc_test_headers(): once, before the tests. What all tests include, compiled for all of them. Only in builds with
# groups of sources: others find missing includes, and share objects between clones, which precompiled headers do not.
function(mlc_test_headers)
  if(NOT MLC_UNITY)
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/tests/headers_of_tests.cc CONTENT "int main() {}\n")
  add_executable(headers_of_tests EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/tests/headers_of_tests.cc)
  target_link_libraries(headers_of_tests PRIVATE GTest::gmock)
  target_compile_options(headers_of_tests PRIVATE ${MLC_TEST_OPTIONS})
  target_precompile_headers(headers_of_tests PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <chrono> <filesystem>
    <fstream> <functional> <map> <memory> <mutex> <optional> <random> <string> <thread> <unordered_map> <variant> <vector>)
endfunction()

# mlc_test(NAME LABEL label SOURCES a_test.cc [LINK x y]): a GoogleTest program registered with ctest.
# The label is the folder's kind: unit, golden, property, fuzz, conformance, e2e, crash or gpu; the target
# tests_LABEL builds all programs of a kind. A test with a main of its own says OWN_MAIN; one of minutes says
# how many seconds by COST, so that it starts before the others; sanitizers make some of seconds tests of minutes.
set(MLC_IN_OWN_FOLDER ${CMAKE_SOURCE_DIR}/tests/in_own_folder.sh)  # how every test is started
function(mlc_test name)
  cmake_parse_arguments(ARG "OWN_MAIN" "LABEL;TIMEOUT;COST" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock)
  if(ARG_OWN_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gtest)
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  # Half of a build's sources are tests: what they call is optimized in full, they themselves a third faster built.
  target_compile_options(${name} PRIVATE ${MLC_TEST_OPTIONS})
  if(MLC_UNITY)
    target_precompile_headers(${name} REUSE_FROM headers_of_tests)
  endif()
  target_compile_definitions(${name} PRIVATE MLC_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             MLC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT TARGET tests_${ARG_LABEL})
    add_custom_target(tests_${ARG_LABEL})
  endif()
  add_dependencies(tests_${ARG_LABEL} ${name})
  add_test(NAME ${name} COMMAND ${MLC_IN_OWN_FOLDER} $<TARGET_FILE:${name}>)
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
  if(MLC_SANITIZE STREQUAL "thread")
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan_suppressions.txt")
  endif()
endfunction()
