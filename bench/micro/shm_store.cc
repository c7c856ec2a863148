#include "bench/micro/shm_store.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "client/lane/lane.h"
#include "common/base/check.h"
#include "common/layout/checksum.h"
#include "common/layout/geometry.h"
#include "common/layout/record.h"

namespace dunlin::bench {
namespace {

// Room for records, index at 80 % load, and some slack.
std::string MemoryFor(const StoreShape& shape) {
  uint64_t record = RecordBytes(kKeyBytes, shape.value_bytes, false);
  uint64_t bytes = shape.keys * (BlockBytes(ClassFor(record)) + 12) * 108 / 100 + (256u << 20);
  return std::to_string(bytes >> 20) + "MiB";
}

// A permutation of [0, n): keys of a working set lie anywhere.
uint64_t Scatter(uint64_t i, uint64_t n) {
  constexpr uint64_t kPrime = 2'654'435'761;
  return i * kPrime % n;
}

}  // namespace

void WriteKey(uint64_t n, char* key) {
  std::memcpy(key, "user", 4);
  for (int i = kKeyBytes - 1; i >= 4; --i, n /= 10) key[i] = static_cast<char>('0' + n % 10);
}

ShmStore& ShmStore::Get(const StoreShape& shape) {
  static std::unique_ptr<ShmStore> store;
  if (store == nullptr || store->shape() != shape) {
    store.reset();
    store.reset(new ShmStore(shape));
  }
  return *store;
}

ShmStore::ShmStore(const StoreShape& shape) : shape_(shape) {
  testing::ServerProcess::Options options;
  options.binary = DUNLIN_SERVER_BINARY;
  options.memory = MemoryFor(shape);
  options.more = {"--records", std::to_string(shape.keys), "--huge-pages", "auto"};
  auto server = testing::ServerProcess::Start(options);
  DUNLIN_CHECK_OK(server);
  server_ = std::move(*server);
  auto client = Client::Connect(server_->target());
  DUNLIN_CHECK_OK(client);
  client_ = std::move(*client);
  auto lane = Lane::Connect(server_->socket(), Deadline::After(Milliseconds(1000)));
  DUNLIN_CHECK_OK(lane);
  auto welcome = (*lane)->Hello({"bench", false}, Deadline::After(Milliseconds(1000)));
  DUNLIN_CHECK_OK(welcome);
  huge_pages_ = welcome->huge_pages;
  auto guard = ForkGuard::Create();
  DUNLIN_CHECK_OK(guard);
  auto region = MappedRegion::Map(welcome->region, false, welcome->incarnation, *guard);
  DUNLIN_CHECK_OK(region);
  region_ = *region;
  Fill();
  DUNLIN_CHECK_OK(directory_.Refresh(
      [this](uint64_t offset, std::span<std::byte> to) {
        region_->ReadWords(offset, to);
        return absl::OkStatus();
      },
      region_->constants()));
}

std::unique_ptr<Session> ShmStore::OpenSession(uint64_t cache_bytes) {
  SessionOptions options;
  options.location_cache_bytes = cache_bytes;
  auto session = client_->OpenSession(options);
  DUNLIN_CHECK_OK(session);
  return std::move(*session);
}

void ShmStore::Fill() {
  auto session = OpenSession(0);
  constexpr uint64_t kBatch = 64;
  std::vector<char> keys(kBatch * kKeyBytes);
  std::string value(shape_.value_bytes, 'v');
  std::vector<PutRequest> puts;
  for (uint64_t n = 0; n < shape_.keys;) {
    puts.clear();
    for (uint64_t i = 0; i < kBatch && n < shape_.keys; ++i, ++n) {
      char* key = &keys[i * kKeyBytes];
      WriteKey(n, key);
      puts.push_back({AsBytes({key, kKeyBytes}), AsBytes(value), {}, {}});
    }
    session->MultiPut(puts);
    for (const PutRequest& put : puts) DUNLIN_CHECK(put.result.ok());
  }
}

ShmStore::Lines ShmStore::Find(uint64_t n) const {
  char key[kKeyBytes];
  WriteKey(n, key);
  const Geometry& g = region_->geometry();
  uint64_t hash = HashKey(AsBytes({key, kKeyBytes}), g.hash_seed);
  Placement place = Place(g, directory_.view(), hash);
  Lines lines{};
  for (int b = 0; b < 2; ++b) {
    lines.bucket[b] = region_->base() + place.bucket[b];
    for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
      std::byte* slot = region_->base() + g.SlotAddress(place.bucket[b], s);
      SlotWord word(LoadWord(slot));
      if (!word.live() || word.fingerprint() != FingerprintOf(hash)) continue;
      std::byte* record = region_->base() + g.RecordAddress(word);
      RecordHeader header(LoadWord(record));
      if (std::memcmp(record + header.key_offset(), key, kKeyBytes) != 0) continue;
      lines.slot = slot;
      lines.value = record + header.value_offset();
    }
  }
  DUNLIN_CHECK(lines.slot != nullptr);
  return lines;
}

std::vector<ShmStore::Access> ShmStore::Sequence(uint64_t count, uint64_t working_set,
                                                 uint64_t seed) const {
  Random random(seed);
  std::vector<Access> sequence(count);
  for (Access& access : sequence) {
    uint64_t n = Scatter(random() % working_set, shape_.keys);
    WriteKey(n, access.key);
    access.lines = Find(n);
  }
  return sequence;
}

}  // namespace dunlin::bench
