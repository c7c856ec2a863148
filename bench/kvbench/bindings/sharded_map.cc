#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "bench/kvbench/bindings/bindings.h"
#include "bench/kvbench/bindings/found_values.h"
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
class Shards {
 public:
  Shards(size_t count, size_t records) : shards_(count) {
    for (Shard& shard : shards_) {
      MutexLock lock(shard.mutex);
      shard.map.reserve(records / count);
    }
  }
  Shard& of(uint64_t hash) { return shards_[((hash >> 32) * shards_.size()) >> 32]; }
  size_t size() const { return shards_.size(); }

 private:
  std::vector<Shard> shards_;
};

class Session : public BindingSession {
 public:
  explicit Session(std::shared_ptr<Shards> shards) : shards_(std::move(shards)) {}

  void Execute(std::span<Request> requests) override {
    found_.Clear();
    for (Request& request : requests) One(request);
    found_.Publish();
  }

 private:
  void One(Request& request) {
    const absl::string_view key = ToAbsl(request.key);
    const size_t hash = absl::Hash<absl::string_view>{}(key);
    Shard& shard = shards_->of(hash);
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
        found_.Add(request, at->second);
      }
    } else if (at == shard.map.end()) {
      shard.map.try_emplace(key, request.value);
    } else {
      at->second.assign(request.value);
    }
  }

  const std::shared_ptr<Shards> shards_;
  FoundValues found_;
};

class ShardedMap : public Binding {
 public:
  ShardedMap(size_t shards, size_t records) : shards_(std::make_shared<Shards>(shards, records)) {}

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return std::make_unique<Session>(shards_);
  }
  ServerUse Use() override { return HeapUse(); }
  std::string Describe() const override {
    return "absl::flat_hash_map in " + std::to_string(shards_->size()) + " shards, in process";
  }

 private:
  const std::shared_ptr<Shards> shards_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeShardedMap(const Properties& properties) {
  DUNLIN_ASSIGN_OR_RETURN(const int64_t shards, properties.GetInt("sharded_map.shards", 256));
  if (shards < 1 || shards > kMaxShards) {
    return absl::InvalidArgumentError("sharded_map.shards is " + std::to_string(shards) +
                                      "; expected 1 to " + std::to_string(kMaxShards));
  }
  DUNLIN_ASSIGN_OR_RETURN(const size_t records, ExpectedRecords(properties));
  return std::make_unique<ShardedMap>(static_cast<size_t>(shards), records);
}

}  // namespace dunlin::kvbench
