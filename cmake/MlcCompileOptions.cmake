# Language level, warnings and sanitizers that every target of the project shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  # Relative to the tree, so that all clones of the project share their objects.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR})
  if(MLC_UNITY)
    # In a build from nothing most is compiled: what a source includes is taken from the compiler, without
    # preprocessing it once more. Precompiled headers take the sloppiness.
    list(APPEND launcher CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
  if(MLC_SANITIZE)
    # Line tables name the folder of the build; sharing is worth more.
    list(APPEND launcher CCACHE_NOHASHDIR=1)
  endif()
  list(APPEND launcher ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

# GCC 12 reports -Wrestrict inside its own std::string.
add_compile_options(-Wall -Wextra -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
add_link_options(-fuse-ld=lld -Wl,--gc-sections)
if(MLC_SANITIZE)
  # Instrumented code makes GCC see uninitialized values where there are none; the release build watches for them.
  add_compile_options(-g1 -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
if(MLC_SANITIZE STREQUAL "address+undefined")
  # Without the checks of pointers at each access, which take a fifth of a compilation; the address sanitizer sees most of it, too.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,alignment,vptr,object-size -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(MLC_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(MLC_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MLC_SANITIZE is 'fuzzer', which takes clang: use cmake --preset fuzz")
  endif()
  # Counts edges for libFuzzer, whose own main only the fuzz targets get; the rest as above. Functions in sections of
  # their own: a target takes from a source file what it calls, without the libraries that the others call.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=null,alignment,vptr,object-size
    -fno-sanitize-recover=all -ffunction-sections)
  add_link_options(-fsanitize=address,undefined)
elseif(MLC_SANITIZE)
  message(FATAL_ERROR "MLC_SANITIZE is '${MLC_SANITIZE}': use address+undefined, thread or fuzzer")
endif()

# Code that runs once in a program, such as the reading of flags: a third faster built.
set(MLC_COLD $<$<CONFIG:Release>:-O1>)

# mlc_library(NAME SOURCES a.cc b.cc [LINK x y]): a static library whose includes start at the project root.
function(mlc_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()
