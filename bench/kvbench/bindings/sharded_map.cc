#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "bench/kvbench/bindings/bindings.h"
#include "bench/kvbench/bindings/in_process.h"
#include "common/base/status.h"
#include "common/base/sync.h"

namespace dunlin::kvbench {
namespace {

constexpr int64_t kMaxShards = 1 << 16;

struct alignas(64) Shard {
  Mutex mutex;
  absl::flat_hash_map<std::string, std::string> map ABSL_GUARDED_BY(mutex);
};

// The key's hash chooses the shard by its upper half, and the place in it by its lower.
class ShardedMap {
 public:
  ShardedMap(size_t count, size_t records) : shards_(count) {
    for (Shard& shard : shards_) {
      MutexLock lock(shard.mutex);
      shard.map.reserve(records / count);
    }
  }

  void Execute(Request& request, FoundValues& found) {
    const absl::string_view key = ToAbsl(request.key);
    const size_t hash = absl::Hash<absl::string_view>{}(key);
    Shard& shard = Of(hash);
    request.returned = Return::kOk;
    MutexLock lock(shard.mutex);
    if (request.op == Op::kDelete) {
      if (shard.map.erase(key) == 0) request.returned = Return::kNotFound;
      return;
    }
    const auto at = shard.map.find(key, hash);
    if (request.op == Op::kRead) {
      if (at == shard.map.end()) {
        request.returned = Return::kNotFound;
      } else {
        found.Add(request, at->second);
      }
    } else if (at == shard.map.end()) {
      shard.map.try_emplace(key, request.value);
    } else {
      at->second.assign(request.value);
    }
  }
  std::string Describe() const {
    return "absl::flat_hash_map in " + std::to_string(shards_.size()) + " shards, in process";
  }

 private:
  Shard& Of(uint64_t hash) { return shards_[((hash >> 32) * shards_.size()) >> 32]; }

  std::vector<Shard> shards_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeShardedMap(const Properties& properties) {
  DUNLIN_ASSIGN_OR_RETURN(const int64_t shards, properties.GetInt("sharded_map.shards", 256));
  if (shards < 1 || shards > kMaxShards) {
    return absl::InvalidArgumentError("sharded_map.shards is " + std::to_string(shards) +
                                      "; expected 1 to " + std::to_string(kMaxShards));
  }
  DUNLIN_ASSIGN_OR_RETURN(const size_t records, ExpectedRecords(properties));
  return std::make_unique<InProcess<ShardedMap>>(
      std::make_shared<ShardedMap>(static_cast<size_t>(shards), records));
}

}  // namespace dunlin::kvbench
