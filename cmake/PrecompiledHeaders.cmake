# Headers that most sources include, parsed once: gmock.h and Abseil's alone take 1.5 s a source.

# What ccache's manual asks for.
set(dunlin_options_for_libraries -fpch-preprocess)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(dunlin_options_for_libraries "SHELL:-Xclang -fno-pch-timestamp")
endif()
set(dunlin_options_for_programs "${dunlin_options_for_libraries}")
set(dunlin_options_for_tests "${dunlin_options_for_libraries}")
if(DUNLIN_SANITIZE)
  # To optimise what is instrumented takes longer than most tests run (dunlin_test).
  list(APPEND dunlin_options_for_tests -O0)
endif()

# A precompiled header fits only code that is compiled alike.
function(dunlin_precompiled_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;DEPS;HEADERS")
  set(empty "${PROJECT_BINARY_DIR}/precompiled/${name}.cc")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "")
  add_library(${name} OBJECT "${empty}")
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_link_libraries(${name} PRIVATE absl::statusor absl::strings ${arg_DEPS})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <cstring> <deque> <functional> <map>
    <memory> <mutex> <optional> <span> <string> <string_view> <thread> <utility> <vector>
    <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> ${arg_HEADERS})
  if("-fPIE" IN_LIST arg_OPTIONS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
endfunction()

if(DUNLIN_BUILD_TESTS)
  dunlin_precompiled_headers(dunlin_headers_for_libraries OPTIONS ${dunlin_options_for_libraries})
  dunlin_precompiled_headers(dunlin_headers_for_programs
    OPTIONS ${dunlin_options_for_programs} -fPIE)
  dunlin_precompiled_headers(dunlin_headers_for_tests OPTIONS ${dunlin_options_for_tests} -fPIE
    HEADERS <gmock/gmock.h> <gtest/gtest.h> DEPS GTest::gmock GTest::gtest)
endif()

# dunlin_precompile(<target> libraries|programs|tests): has its sources begin with those headers, but
# only sanitizer builds do so for what isn't a test: the others show an include that was forgotten.
function(dunlin_precompile target kind)
  if(TARGET dunlin_headers_for_${kind} AND (DUNLIN_SANITIZE OR kind STREQUAL tests))
    target_precompile_headers(${target} REUSE_FROM dunlin_headers_for_${kind})
    target_compile_options(${target} PRIVATE ${dunlin_options_for_${kind}})
  endif()
endfunction()
