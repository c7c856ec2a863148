# Flags that every target of the project shares.

get_property(dunlin_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT dunlin_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

# No -march: one binary runs on every x86-64, hot spots dispatch at run time.
add_compile_options(-Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wthread-safety)
elseif(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False reports from within std::string (GCC bug 105651), std::variant and std::optional (105562),
  # some of which depend on the length of a path. clang's own analysis and the sanitizer builds look
  # for the same mistakes.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds
                      -Wno-stringop-overflow -Wno-stringop-overread)
endif()
include_directories("${PROJECT_SOURCE_DIR}")

if(DUNLIN_SANITIZE)
  add_compile_options("-fsanitize=${DUNLIN_SANITIZE}" -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options("-fsanitize=${DUNLIN_SANITIZE}")
endif()

if(DUNLIN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DUNLIN_FUZZ needs clang (libFuzzer); the compiler is "
                        "${CMAKE_CXX_COMPILER_ID}. Configure with -DCMAKE_CXX_COMPILER=clang++-16")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(DUNLIN_MOLD mold)
mark_as_advanced(DUNLIN_MOLD)
if(DUNLIN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(DUNLIN_CCACHE ccache)
mark_as_advanced(DUNLIN_CCACHE)
if(DUNLIN_CCACHE)
  # Without this permission it doesn't cache what uses a precompiled header.
  set(launcher /usr/bin/env CCACHE_SLOPPINESS=pch_defines,time_macros "${DUNLIN_CCACHE}")
  if(NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  endif()
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  endif()
endif()
