#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/random.h"
#include "dunlin/client.h"
#include "tests/soak/loader_page.h"

namespace dunlin::testing {

struct LoadPlan {
  uint64_t seed = 1;
  std::string prefix;       // of its keys, which nobody else writes
  bool cache = false;       // records may be evicted
  uint64_t wave_bytes = 0;  // that a wave tries to have in the store
  uint64_t most_keys = 2 << 20;
  int64_t wave_nanos = 15'000'000'000;
};

// The bulk: waves of records of one size, then of another, that fill the memory, are read back and
// replaced all the while, and for the most part removed again. Knows what each key must hold.
class Load {
 public:
  Load(const LoadPlan& plan, Session& session, LoaderPage& page);

  // Until the page says stop.
  void Run();

 private:
  struct Life {  // of a record with a time to live
    int64_t from = 0, until = 0;
  };
  struct Sizes {
    uint64_t least = 0, most = 0;
  };
  static constexpr uint32_t kAbsent = 0;
  static constexpr uint32_t kUnsure = ~uint32_t{0};  // a write of unknown outcome
  static constexpr size_t kBatch = 16;

  bool stopped() const { return page_.stop.load(std::memory_order_relaxed) != 0; }
  std::string KeyName(uint32_t key) const { return plan_.prefix + std::to_string(key); }
  static uint64_t NumberOf(uint32_t key, uint32_t epoch) { return uint64_t{key} << 32 | epoch; }

  void Wave();
  void RemoveMany();
  // False: the store refused one.
  bool PutBatch(const std::vector<uint32_t>& keys, const Sizes& sizes);
  void GetBatch(const std::vector<uint32_t>& keys);
  std::vector<uint32_t> PickPresent();
  void Put(uint32_t key, const PutRequest& request, int64_t before, uint32_t epoch);
  void Verify(uint32_t key, const GetResult& result, std::string_view value, int64_t before);
  void VerifyAbsence(uint32_t key, int64_t after);
  void Violate(uint32_t key, const std::string& what);
  void Refused(Outcome outcome, uint32_t key);

  const LoadPlan plan_;
  Random random_;
  Session& session_;
  LoaderPage& page_;
  std::vector<uint32_t> epochs_;  // of each key: which of its values is there, or kAbsent
  std::vector<uint32_t> last_;    // epoch given out
  std::unordered_map<uint32_t, Life> lives_;
  uint32_t top_ = 0;  // keys below have been written at some time
  std::vector<std::vector<std::byte>> buffers_;
};

}  // namespace dunlin::testing
