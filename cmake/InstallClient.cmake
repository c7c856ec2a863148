# What `cmake --install` puts where, and how an application finds it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# dunlin_install_client_package(<target>)
# Makes the shared library <target> the installed client library: libdunlin.so with a versioned
# name, the headers of client/include/dunlin, a CMake package (find_package(Dunlin), target
# dunlin::client) and a pkg-config file (dunlin). Also sets the include directory of client/include
# on the target, for both uses, and the alias dunlin::client within this build. Call it once.
function(dunlin_install_client_package target)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL SHARED_LIBRARY)
    message(FATAL_ERROR "dunlin_install_client_package(${target}): expected a SHARED library, "
                        "found ${type}")
  endif()
  # Before 1.0 a minor version may change the binary interface.
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME dunlin
    EXPORT_NAME client
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/client/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/dunlin.map")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS
    "${PROJECT_SOURCE_DIR}/cmake/dunlin.map")
  if(NOT TARGET dunlin::client)
    add_library(dunlin::client ALIAS ${target})
  endif()

  install(TARGETS ${target} EXPORT DunlinTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/client/include/dunlin"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Dunlin")
  set(generated "${PROJECT_BINARY_DIR}/package")
  install(EXPORT DunlinTargets NAMESPACE dunlin:: DESTINATION "${package_dir}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/DunlinConfig.cmake.in"
    "${generated}/DunlinConfig.cmake" INSTALL_DESTINATION "${package_dir}")
  write_basic_package_version_file("${generated}/DunlinConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${generated}/DunlinConfig.cmake" "${generated}/DunlinConfigVersion.cmake"
    DESTINATION "${package_dir}")

  # Relative to the file itself, so that the installed tree may be moved.
  file(RELATIVE_PATH DUNLIN_PC_PREFIX
    "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
  string(REGEX REPLACE "/$" "" DUNLIN_PC_PREFIX "${DUNLIN_PC_PREFIX}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/dunlin.pc.in" "${generated}/dunlin.pc" @ONLY)
  install(FILES "${generated}/dunlin.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

# dunlin_install_program(<target>...): installs executables among the programs.
function(dunlin_install_program)
  install(TARGETS ${ARGN} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()
