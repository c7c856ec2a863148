# The functions with which folders declare their targets.

# dunlin_add_existing(<folder>...): adds each folder that has a CMakeLists.txt.
function(dunlin_add_existing)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory("${folder}")
    endif()
  endforeach()
endfunction()

# dunlin_library(<name> [SOURCES file...] [DEPS target...])
# A static, position-independent library; without SOURCES an INTERFACE library of headers.
function(dunlin_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dunlin_library(${name}): unexpected arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC ${arg_DEPS})
    dunlin_precompile(${name} libraries)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_DEPS})
  endif()
endfunction()

# dunlin_executable(<name> SOURCES file... [DEPS target...])
function(dunlin_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "dunlin_executable(${name}): needs SOURCES, accepts DEPS; "
                        "unexpected: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  dunlin_precompile(${name} programs)
endfunction()

# dunlin_test_properties(<name> <timeout in seconds> <labels>): for a test of add_test(). Gives
# instrumented builds, which run several times slower, more time, and readable reports. What may take
# longest starts first (until ctest knows how long each took), lest it run alone in the end. ctest's
# processors are half cores here, and a test has one core unless it says dunlin_test_waits().
function(dunlin_test_properties name timeout labels)
  set(environment)
  if(DUNLIN_SANITIZE)
    math(EXPR timeout "${timeout} * 5")
    find_program(DUNLIN_SYMBOLIZER NAMES llvm-symbolizer-16 llvm-symbolizer)
    mark_as_advanced(DUNLIN_SYMBOLIZER)
    set(common "")
    if(DUNLIN_SYMBOLIZER)
      set(common ":external_symbolizer_path=${DUNLIN_SYMBOLIZER}")
    endif()
    set(environment "ASAN_OPTIONS=detect_stack_use_after_return=1${common}"
      "UBSAN_OPTIONS=print_stacktrace=1${common}" "TSAN_OPTIONS=halt_on_error=1${common}")
  endif()
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} COST ${timeout} PROCESSORS 2 LABELS "${labels}" ENVIRONMENT "${environment}")
endfunction()

# dunlin_test_waits(<test>...): half a core is enough for these, which for more than half of their time
# wait for disks, processes or set times. Passes over tests that this build doesn't have.
function(dunlin_test_waits)
  foreach(name IN LISTS ARGN)
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES PROCESSORS 1)
    endif()
  endforeach()
endfunction()

# dunlin_test(<name> SOURCES file... [DEPS target...] [ARGS argument...] [LABELS label...]
#             [TIMEOUT seconds] [RUN_SERIAL] [TOGETHER] [OPTIMISED])
# A GoogleTest binary with its main, registered in ctest as one test. The label is "unit" and the
# time limit 60 s unless told otherwise. The sanitizer builds run the labels unit, conformance,
# end_to_end and fuzz, but nothing that also has the label "timing". RUN_SERIAL keeps other tests
# from running beside it. TOGETHER compiles up to eight sources as if they were one, which is faster;
# they must have no names in common. OPTIMISED is for a test that itself computes for long: sanitizer
# builds don't optimise the others' own sources, as that takes longer than they run.
function(dunlin_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RUN_SERIAL;TOGETHER;OPTIMISED" "TIMEOUT"
                        "SOURCES;DEPS;ARGS;LABELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "dunlin_test(${name}): needs SOURCES; "
                        "unexpected: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  if(NOT arg_OPTIMISED OR NOT DUNLIN_SANITIZE)
    dunlin_precompile(${name} tests)
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${arg_TOGETHER} UNITY_BUILD_BATCH_SIZE 8)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  dunlin_test_properties(${name} ${arg_TIMEOUT} "${arg_LABELS}")
  set_tests_properties(${name} PROPERTIES RUN_SERIAL ${arg_RUN_SERIAL})
endfunction()

# dunlin_fuzzer(<name> SOURCES file... [DEPS target...] [CORPUS folder] [RUNS n])
# SOURCES define LLVMFuzzerTestOneInput. With DUNLIN_FUZZ this is a libFuzzer binary. Without, it
# is a plain binary that runs the function over each file of CORPUS (by default the folder "corpus"
# beside the CMakeLists.txt) and over RUNS seeded mutations of them: the same code as a ctest.
function(dunlin_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS;RUNS" "SOURCES;DEPS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "dunlin_fuzzer(${name}): needs SOURCES; "
                        "unexpected: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_CORPUS)
    set(arg_CORPUS corpus)
  endif()
  if(NOT arg_RUNS)
    set(arg_RUNS 5000)
  endif()
  get_filename_component(corpus "${arg_CORPUS}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  dunlin_precompile(${name} programs)
  if(DUNLIN_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    # The first folder is where libFuzzer writes new inputs; the corpus is only read.
    set(found "${CMAKE_CURRENT_BINARY_DIR}/${name}_found")
    file(MAKE_DIRECTORY "${found}")
    add_test(NAME ${name} COMMAND ${name} -runs=${arg_RUNS} -seed=1 "${found}" "${corpus}")
  else()
    target_link_libraries(${name} PRIVATE dunlin_fuzz_regression_main)
    add_test(NAME ${name} COMMAND ${name} --runs=${arg_RUNS} "${corpus}")
  endif()
  dunlin_test_properties(${name} 120 fuzz)
endfunction()

# dunlin_on_every_fabric(<name> [TIMEOUT seconds] [LABELS label...]): <name>, a dunlin_test that uses
# FabricUnderTest() (tests/support), runs on shared memory; this adds <name>_tcp, and where RDMA
# devices can be had (tests/rdma) <name>_rxe and <name>_siw.
function(dunlin_on_every_fabric name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name}_tcp COMMAND ${name})
  dunlin_test_properties(${name}_tcp ${arg_TIMEOUT} "${arg_LABELS}")
  set_property(TEST ${name}_tcp APPEND PROPERTY ENVIRONMENT TEST_FABRIC=tcp)
  foreach(device rxe siw)
    if(COMMAND dunlin_rdma_test)
      dunlin_rdma_test(${name}_${device} COMMAND ${name} TIMEOUT ${arg_TIMEOUT})
    endif()
    if(TEST ${name}_${device})
      set_property(TEST ${name}_${device} APPEND PROPERTY ENVIRONMENT TEST_FABRIC=${device})
    endif()
  endforeach()
endfunction()
