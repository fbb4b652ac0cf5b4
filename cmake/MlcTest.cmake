# mlc_test(NAME LABEL label SOURCES a_test.cc [LINK x y]): a GoogleTest program registered with ctest.
# The label is the folder's kind: unit, golden, property, fuzz, conformance, e2e, crash or gpu.
function(mlc_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${name} PRIVATE MLC_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             MLC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()
