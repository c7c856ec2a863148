#include "bench/kvbench/bindings/bindings.h"

namespace dunlin::kvbench {

std::span<const BindingFactory> Bindings() {
  static const BindingFactory kBindings[] = {
    {"dunlin", "dunlin-server over shared memory, TCP or RDMA: dunlin.target", MakeDunlin},
#if defined(KVBENCH_REDIS)
    {"redis", "redis-server: redis.host, redis.port, or redis.socket", MakeRedis},
#endif
#if defined(KVBENCH_MEMCACHED)
    {"memcached", "memcached: memcached.hosts, or memcached.socket", MakeMemcached},
#endif
    {"rocksdb", "RocksDB in this process: rocksdb.dir", MakeRocksDb},
#if defined(KVBENCH_LIBCUCKOO)
    {"libcuckoo", "a libcuckoo map in this process", MakeLibcuckoo},
#endif
    {"sharded_map", "absl::flat_hash_map behind sharded locks, in this process", MakeShardedMap},
    {"null", "does nothing: what the driver itself costs", MakeNull},
  };
  return kBindings;
}

}  // namespace dunlin::kvbench
