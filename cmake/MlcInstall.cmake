# What `cmake --install` writes, and the package configuration for find_package(mlc): one for the
# build tree, one for the installed tree.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(mlc_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mlc)
function(mlc_write_config program prefix install_dir output)
  set(MLC_COMPILE_PROGRAM ${program})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/mlcConfig.cmake.in ${output}
    INSTALL_DESTINATION ${install_dir} INSTALL_PREFIX ${prefix} PATH_VARS MLC_COMPILE_PROGRAM)
endfunction()

mlc_write_config(bin/mlc-compile ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/mlcConfig.cmake)
mlc_write_config(${CMAKE_INSTALL_BINDIR}/mlc-compile ${CMAKE_INSTALL_PREFIX} ${mlc_config_dir}
  ${CMAKE_BINARY_DIR}/installed/mlcConfig.cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/mlcConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
configure_file(${CMAKE_SOURCE_DIR}/cmake/MlcAddModel.cmake ${CMAKE_BINARY_DIR}/MlcAddModel.cmake COPYONLY)

# The component "compile" is all that a project needs which compiles models.
install(TARGETS mlc-compile RUNTIME COMPONENT compile)
install(FILES ${CMAKE_BINARY_DIR}/installed/mlcConfig.cmake ${CMAKE_BINARY_DIR}/mlcConfigVersion.cmake
  ${CMAKE_SOURCE_DIR}/cmake/MlcAddModel.cmake DESTINATION ${mlc_config_dir} COMPONENT compile)
foreach(program mlc-run mlc-tune mlc-log mlc-server mlc-worker)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME COMPONENT programs)
  endif()
endforeach()

# Manual pages and shell completion, from the help texts of the programs. Builds with a sanitizer and
# machines without Python go without.
find_program(MLC_PYTHON python3)
set(mlc_programs mlc-tune mlc-compile mlc-run mlc-log mlc-server mlc-worker)
if(MLC_PYTHON AND NOT MLC_SANITIZE)
  set(mlc_generate ${MLC_PYTHON} -B ${CMAKE_SOURCE_DIR}/cmake/program_docs/generate.py)
  file(GLOB mlc_generator CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/program_docs/*.py)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/share/written
    COMMAND ${mlc_generate} share ${CMAKE_BINARY_DIR}/bin ${CMAKE_BINARY_DIR}/share ${PROJECT_VERSION}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/share/written
    DEPENDS ${mlc_programs} ${mlc_generator} VERBATIM)
  add_custom_target(program_share ALL DEPENDS ${CMAKE_BINARY_DIR}/share/written)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT programs)
  foreach(folder bash-completion zsh fish)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/share/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT programs)
  endforeach()
  add_custom_target(program_pages
    COMMAND ${mlc_generate} pages ${CMAKE_BINARY_DIR}/bin ${CMAKE_SOURCE_DIR}/docs/reference
    DEPENDS ${mlc_programs} VERBATIM)
endif()

add_custom_target(programs DEPENDS ${mlc_programs})

# Programs look for libraries in lib/ beside bin/ first, also for the libraries of libraries: what an unpacked
# bundle needs. In a build tree there is no such folder.
foreach(program ${mlc_programs})
  target_link_options(${program} PRIVATE "LINKER:--disable-new-dtags")
  set_target_properties(${program} PROPERTIES BUILD_RPATH "$ORIGIN/../lib" INSTALL_RPATH "$ORIGIN/../lib")
endforeach()

# One archive with every program and its libraries, for machines that build nothing.
add_custom_target(bundle
  COMMAND ${CMAKE_SOURCE_DIR}/deploy/bundle.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/dist ${PROJECT_VERSION}
  DEPENDS ${mlc_programs}
  VERBATIM)
if(TARGET program_share)
  add_dependencies(bundle program_share)
endif()
