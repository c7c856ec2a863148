#include "common/fabric/verbs/region_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/fabric/verbs/verbs_device.h"

namespace dunlin {
namespace {

constexpr uint64_t kHugePageBytes = 2u << 20;

absl::Status RegisterSet(ibv_pd* pd, std::span<std::byte> region, int access,
                         std::vector<MemoryKey>& keys, std::vector<MemoryRegion>& registrations) {
  for (MemoryKey& key : keys) {
    std::byte* from = region.data() + key.offset;
    MemoryRegion registration(ibv_reg_mr(pd, from, key.bytes, access));
    if (registration == nullptr) return RegistrationError("the region", key.bytes, errno);
    key.address = reinterpret_cast<uintptr_t>(from);
    key.key = registration->rkey;
    registrations.push_back(std::move(registration));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<MemoryKey> CutRegion(uint64_t region_bytes, uint64_t max_bytes, uint64_t page_bytes) {
  const uint64_t unit = max_bytes >= kHugePageBytes ? kHugePageBytes : page_bytes;
  uint64_t most = std::max(max_bytes / unit * unit, unit);
  if (max_bytes == 0 || region_bytes <= max_bytes) most = region_bytes;
  std::vector<MemoryKey> keys;
  for (uint64_t offset = 0; offset < region_bytes; offset += most) {
    MemoryKey key;
    key.offset = offset;
    key.bytes = std::min(most, region_bytes - offset);
    keys.push_back(key);
  }
  return keys;
}

absl::StatusOr<RegionMemory> RegionMemory::Register(ibv_pd* pd, std::span<std::byte> region,
                                                    uint64_t max_mr_bytes, bool remote_atomics) {
  RegionMemory memory;
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  memory.keys_ = CutRegion(region.size(), max_mr_bytes, page);
  memory.read_only_keys_ = memory.keys_;
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (remote_atomics) access |= IBV_ACCESS_REMOTE_ATOMIC;
  DUNLIN_RETURN_IF_ERROR(RegisterSet(pd, region, access, memory.keys_, memory.registrations_));
  DUNLIN_RETURN_IF_ERROR(RegisterSet(pd, region, IBV_ACCESS_REMOTE_READ, memory.read_only_keys_,
                                     memory.registrations_));
  return memory;
}

}  // namespace dunlin
