#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/connect/directory_copy.h"
#include "client/connect/mapped_region.h"
#include "common/base/random.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"
#include "dunlin/client.h"
#include "tests/support/server_process.h"

namespace dunlin::bench {

struct StoreShape {
  uint64_t keys = 10'000'000;
  uint32_t value_bytes = 64;
  bool operator==(const StoreShape&) const = default;
};

inline constexpr uint32_t kKeyBytes = 16;

// The n-th key: 16 bytes.
void WriteKey(uint64_t n, char* key);

// A server process of its own, filled with keys 0..keys-1, and a mapping of its region beside the
// client's, for the limits: bare code that touches the very lines that the store touches.
class ShmStore {
 public:
  // Fills the store on first use; one shape at a time is kept. Ends the program with a message if
  // the server can't be had: without it there is nothing to measure.
  static ShmStore& Get(const StoreShape& shape);

  Client& client() { return *client_; }
  std::unique_ptr<Session> OpenSession(uint64_t cache_bytes);
  const StoreShape& shape() const { return shape_; }
  const testing::ServerProcess& server() const { return *server_; }
  bool huge_pages() const { return huge_pages_; }

  // Where a key lies: read out of the region without the protocol.
  struct Lines {
    const std::byte* bucket[2];
    const std::byte* slot;
    std::byte* value;
  };
  Lines Find(uint64_t key) const;
  // The value of the record that a slot names.
  const std::byte* ValueAt(SlotWord word) const {
    return region_->base() + region_->geometry().RecordAddress(word) + kRecordPrefixBytes +
           kKeyBytes;
  }

  // One operation of a random sequence: the key as an application has it, and its lines.
  struct Access {
    char key[kKeyBytes];
    Lines lines;
  };
  // `count` accesses to keys drawn from the first `working_set` keys of a random permutation.
  std::vector<Access> Sequence(uint64_t count, uint64_t working_set, uint64_t seed) const;

 private:
  explicit ShmStore(const StoreShape& shape);
  void Fill();

  const StoreShape shape_;
  std::unique_ptr<testing::ServerProcess> server_;
  std::unique_ptr<Client> client_;
  std::shared_ptr<MappedRegion> region_;
  DirectoryCopy directory_;  // of the filled store
  bool huge_pages_ = false;
};

}  // namespace dunlin::bench
