# Compiles models as part of a build. Comes with find_package(mlc).
#
#   mlc_add_model(TARGET model.onnx LOG tuning.db
#                 [SERVER address [TOKEN_FILE file] [TLS_CA file]] [NAME n] [LOCKED lock] [TARGET_TEXT text] [THREADS n] [DIMS NAME=N...]
#                 [SHARED] [REQUIRE_TUNED] [WEIGHTS_IN_FILE])
#
# Makes the library target TARGET: link with it, include "NAME.h", use NAME_model (see mlc_model.h).
# NAME defaults to TARGET in lower case. The library is static unless SHARED is given. Without LOG
# and LOCKED every kernel has the default config of its family. Without TARGET_TEXT the target is what the records are of,
# or this machine's GPU or processor (mlc-compile --target auto). With WEIGHTS_IN_FILE the target's
# property MLC_WEIGHTS_FILE names the file that open() takes. Runs again when the model, the log or
# the lock file change.
#
# With SERVER in place of LOG the best kernels are asked of an mlc-server at build time; what changes
# there makes nothing run again: a build that must be repeatable uses LOCKED or a snapshot as LOG.
function(mlc_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "SHARED;REQUIRE_TUNED;WEIGHTS_IN_FILE"
    "LOG;NAME;LOCKED;SERVER;TOKEN_FILE;TLS_CA;TARGET_TEXT;THREADS" "DIMS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mlc_add_model(${target}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_NAME)
    string(TOLOWER "${target}" ARG_NAME)
    string(REGEX REPLACE "[^a-z0-9_]" "_" ARG_NAME "${ARG_NAME}")
  endif()
  get_filename_component(model "${model}" ABSOLUTE)
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/${target}_model)
  set(inputs ${model})
  set(options --name ${ARG_NAME})
  foreach(file LOG LOCKED)
    if(ARG_${file})
      string(TOLOWER ${file} option)
      get_filename_component(path "${ARG_${file}}" ABSOLUTE)
      list(APPEND options --${option} ${path})
      list(APPEND inputs ${path})
    endif()
  endforeach()
  if(ARG_SERVER)
    list(APPEND options --server ${ARG_SERVER})
  endif()
  foreach(file TOKEN_FILE TLS_CA)
    if(ARG_${file})
      string(TOLOWER ${file} option)
      string(REPLACE "_" "-" option ${option})
      get_filename_component(path "${ARG_${file}}" ABSOLUTE)
      list(APPEND options --${option} ${path})
    endif()
  endforeach()
  if(ARG_TARGET_TEXT)
    list(APPEND options --target ${ARG_TARGET_TEXT})
  endif()
  if(ARG_THREADS)
    list(APPEND options --threads ${ARG_THREADS})
  endif()
  foreach(dim ${ARG_DIMS})
    list(APPEND options --dim ${dim})
  endforeach()
  if(ARG_REQUIRE_TUNED)
    list(APPEND options --require-tuned)
  endif()
  set(outputs ${directory}/lib${ARG_NAME}.so ${directory}/lib${ARG_NAME}.a
    ${directory}/${ARG_NAME}.h ${directory}/mlc_model.h)
  if(ARG_WEIGHTS_IN_FILE)
    list(APPEND options --weights file)
    list(APPEND outputs ${directory}/${ARG_NAME}.weights)
  endif()
  file(MAKE_DIRECTORY ${directory})
  # The report goes into report.txt, there for whoever asks. What a user likes to have, in a
  # configuration file or in variables, does not change what a build makes.
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -E env MLC_SERVER= MLC_LOG= MLC_TARGET= MLC_THREADS=
      $<TARGET_FILE:mlc::compile> --config "" --model ${model} -o ${directory} ${options}
    DEPENDS ${inputs} mlc::compile
    COMMENT "Compiling model ${target}" VERBATIM)
  add_custom_target(${target}_model_files DEPENDS ${outputs})

  if(ARG_SHARED)
    add_library(${target} SHARED IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${directory}/lib${ARG_NAME}.so
      IMPORTED_SONAME lib${ARG_NAME}.so)
  else()
    add_library(${target} STATIC IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${directory}/lib${ARG_NAME}.a
      INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${directory})
  if(ARG_WEIGHTS_IN_FILE)
    set_target_properties(${target} PROPERTIES MLC_WEIGHTS_FILE ${directory}/${ARG_NAME}.weights)
  endif()
  add_dependencies(${target} ${target}_model_files)
endfunction()
