#include "common/fabric/verbs/key_table.h"

namespace dunlin {

std::string KeyTable::WhyNotValid(const std::vector<MemoryKey>& keys, uint64_t region_bytes) {
  uint64_t end = 0;
  for (const MemoryKey& key : keys) {
    if (key.offset != end || key.bytes == 0 || key.bytes > UINT64_MAX - end) {
      return "the memory key for offset " + std::to_string(end) + " is missing; the next one is " +
             "for " + std::to_string(key.bytes) + " bytes at " + std::to_string(key.offset);
    }
    if (key.bytes > UINT64_MAX - key.address) return "a memory key's addresses wrap around";
    end += key.bytes;
  }
  if (end >= region_bytes && region_bytes != 0) return "";
  return "the memory keys cover " + std::to_string(end) + " bytes of a region of " +
         std::to_string(region_bytes);
}

}  // namespace dunlin
