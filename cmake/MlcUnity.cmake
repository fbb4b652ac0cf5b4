# Builds from nothing, such as those of deploy/setup.sh, take less than half of the time if several sources are compiled as one:
# most of a compilation is headers. An edit then costs the compilation of the whole group.
option(MLC_UNITY "Compile several sources of a library as one" OFF)
if(MLC_UNITY)
  # Of a group the linker keeps what a program calls, as it does of single sources. GCC takes the sources of a group
  # for headers, whose types must not have members of unnamed namespaces.
  add_compile_options(-ffunction-sections $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()

# mlc_targets_below(FOLDER RESULT): the programs and libraries of a folder and of those in it.
function(mlc_targets_below folder result)
  set(found)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner ${folders})
    mlc_targets_below(${inner} more)
    list(APPEND found ${more})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# mlc_group_sources(): after all targets are known. cmake/unity_groups.py chooses what goes together; since that follows
# from the names that sources declare, an edit of a source configures again.
function(mlc_group_sources)
  find_program(MLC_PYTHON python3 REQUIRED)
  mlc_targets_below(${CMAKE_SOURCE_DIR} targets)
  set(lines)
  foreach(target ${targets})
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
      get_filename_component(path ${source} ABSOLUTE BASE_DIR ${folder})
      # Generated sources may not be there yet.
      if(path MATCHES "\\.cc$" AND EXISTS ${path} AND NOT path MATCHES "^${CMAKE_BINARY_DIR}/")
        string(APPEND lines "${target};${folder};${path}\n")
        set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
      endif()
    endforeach()
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/unity_sources.txt "${lines}")
  execute_process(COMMAND ${MLC_PYTHON} -B ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py ${CMAKE_BINARY_DIR}/unity_sources.txt
    OUTPUT_FILE ${CMAKE_BINARY_DIR}/unity_groups.cmake COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py)
  include(${CMAKE_BINARY_DIR}/unity_groups.cmake)
endfunction()
