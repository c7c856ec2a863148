#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "bench/kvbench/binding.h"
#include "bench/kvbench/properties.h"

// What makes each binding. They fail if the store can't be reached or a property makes no sense,
// and the message says what to do about it. Those of libraries that this program was built without
// are declared all the same, but not defined: KVBENCH_REDIS, KVBENCH_MEMCACHED and
// KVBENCH_LIBCUCKOO say which are there.

namespace dunlin::kvbench {

// Does nothing and finds nothing: what is left is the driver's own cost.
absl::StatusOr<std::unique_ptr<Binding>> MakeNull(const Properties& properties);

// A dunlin-server. dunlin.target says where it is (shm:///path/of.sock, tcp://host:port or
// rdma://host:port), dunlin.cache how much memory a session may take to remember where keys are
// (like "64MiB"), dunlin.deadline how long a call may take (ms). On the same host its CPU time is
// told as well: over TCP and RDMA dunlin.pid has to name the process.
absl::StatusOr<std::unique_ptr<Binding>> MakeDunlin(const Properties& properties);

// Properties redis.host, redis.port, redis.password and redis.timeout (ms) are as in YCSB;
// redis.socket names a Unix socket instead of host and port. The reads of one call go as one MGET,
// which costs the server less than so many GETs, unless redis.mget is false. All commands of a call
// are written at once. Whoever uses this ignores SIGPIPE: hiredis doesn't.
absl::StatusOr<std::unique_ptr<Binding>> MakeRedis(const Properties& properties);

// Properties memcached.hosts (one host:port) and memcached.opTimeoutMillis are as in YCSB;
// memcached.socket names a Unix socket instead. memcached.client is "libmemcached", or "direct":
// the meta protocol without a library, one write and as few reads as it takes for all of a call,
// which libmemcached can't do for updates. memcached.protocol=ascii|binary is libmemcached's.
absl::StatusOr<std::unique_ptr<Binding>> MakeMemcached(const Properties& properties);

// In this process. Property rocksdb.dir; without one the records are in a temporary folder, and
// gone with the binding. rocksdb.wal=true keeps a log, rocksdb.cache is the block cache's size
// (like "1GiB").
absl::StatusOr<std::unique_ptr<Binding>> MakeRocksDb(const Properties& properties);

// Maps in this process, empty at first. Both make room for `recordcount` records in advance.
absl::StatusOr<std::unique_ptr<Binding>> MakeLibcuckoo(const Properties& properties);
// absl::flat_hash_map, as many of them as sharded_map.shards says, each behind a mutex.
absl::StatusOr<std::unique_ptr<Binding>> MakeShardedMap(const Properties& properties);

}  // namespace dunlin::kvbench
