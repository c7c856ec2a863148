# Everything that is found outside of this tree, once. All of it is packaged by Debian 12
# (tools/install-packages); nothing is downloaded while configuring.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(Protobuf REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(RocksDB CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(NUMA REQUIRED IMPORTED_TARGET numa)
pkg_check_modules(IBVERBS REQUIRED IMPORTED_TARGET libibverbs)
pkg_check_modules(RDMACM REQUIRED IMPORTED_TARGET librdmacm)

if(DUNLIN_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(DUNLIN_BUILD_BENCH)
  find_package(benchmark REQUIRED)
  find_package(ZLIB REQUIRED)  # kvbench: HdrHistogram's logs are deflated
  # Other stores, to be measured beside this one: kvbench does without those that aren't there.
  pkg_check_modules(HIREDIS IMPORTED_TARGET hiredis)
  if(HIREDIS_FOUND)
    # Its -D_FILE_OFFSET_BITS=64 changes nothing on 64 bits, but fits no precompiled header.
    set_property(TARGET PkgConfig::HIREDIS PROPERTY INTERFACE_COMPILE_OPTIONS)
  endif()
  pkg_check_modules(LIBMEMCACHED IMPORTED_TARGET libmemcached)
  find_package(libcuckoo CONFIG)
endif()
