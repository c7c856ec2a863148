#include "tests/simulator/rest_check.h"

#include <set>
#include <span>

#include "common/layout/bucket.h"
#include "common/layout/checksum.h"
#include "common/layout/directory.h"
#include "common/layout/geometry.h"
#include "common/layout/record.h"
#include "common/layout/word.h"

namespace dunlin::simulator {
namespace {

class RestCheck {
 public:
  explicit RestCheck(const ServerHost& server)
      : server_(server),
        base_(server.base()),
        plan_(server.plan()),
        geometry_(Geometry::Of(plan_)),
        pool_(server.core().allocator().pool()) {}

  RestReport Run() {
    if (std::string why = pool_.Audit(); !why.empty()) Fault("allocator: " + why);
    if (pool_.grace_bytes() != 0) {
      Fault(std::to_string(pool_.grace_bytes()) + " bytes are still in grace");
    }
    if (!server_.core().sessions().all().empty()) {
      Fault(std::to_string(server_.core().sessions().all().size()) + " sessions are still there");
    }
    const DirectoryRoot root(LoadWord(&reinterpret_cast<const Superblock*>(base_)->directory_root));
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < uint64_t{1} << root.depth(); ++i) {
      const DirectoryEntry entry(LoadWord(base_ + root.region_offset() + i * kWordBytes));
      if (seen.insert(entry.region_offset()).second) VisitSubtable(entry, root, i);
    }
    report_.leaked_bytes = pool_.allocated_bytes() - report_.reachable_bytes;
    if (report_.leaked_bytes != 0) {
      Fault(std::to_string(report_.leaked_bytes) + " bytes are allocated that no slot points to");
    }
    return std::move(report_);
  }

 private:
  void Fault(std::string what) { report_.violations.push_back("at rest: " + std::move(what)); }

  void VisitSubtable(DirectoryEntry entry, DirectoryRoot root, uint64_t index) {
    const uint32_t prefix =
        entry.depth() == 0 ? 0 : static_cast<uint32_t>(index >> (root.depth() - entry.depth()));
    const BucketHeader expected = BucketHeader::Free(prefix, entry.depth());
    for (uint64_t b = 0; b <= geometry_.bucket_mask; ++b) {
      VisitBucket(entry.region_offset() + b * geometry_.bucket_bytes, expected);
    }
  }

  void VisitBucket(uint64_t address, BucketHeader expected) {
    const BucketHeader header(LoadWord(base_ + address));
    if (header.held()) {
      Fault("the bucket at " + std::to_string(address) + " is locked by session " +
            std::to_string(header.owner()));
    } else if (header != expected) {
      Fault("the bucket at " + std::to_string(address) + " has another identity");
    }
    for (uint32_t i = 0; i < geometry_.slots_per_bucket; ++i) {
      const SlotWord word(LoadWord(base_ + geometry_.SlotAddress(address, i)));
      if (word.empty()) continue;
      if (!word.live() || word.frozen()) {
        Fault("slot word " + std::to_string(word.raw()) + " is MOVED, frozen or damaged");
        continue;
      }
      VisitRecord(address, word);
    }
  }

  void VisitRecord(uint64_t bucket, SlotWord word) {
    const std::optional<BlockRef> block = pool_.Find(word);
    if (!block.has_value()) {
      return Fault("a slot points to heap offset " + std::to_string(word.heap_offset()) +
                   ", which is not allocated in that generation");
    }
    ++report_.records;
    report_.reachable_bytes += pool_.BytesOf(*block);
    const std::byte* const record = base_ + geometry_.RecordAddress(word);
    const RecordHeader header(LoadWord(record));
    if (!header.plausible() || header.generation() != word.generation() ||
        header.record_bytes() > pool_.BytesOf(*block)) {
      return Fault("the record at heap offset " + std::to_string(word.heap_offset()) +
                   " has a bad header");
    }
    const std::span<const std::byte> key(record + header.key_offset(), header.key_bytes());
    const std::span<const std::byte> value(record + header.value_offset(), header.value_bytes());
    const uint64_t expiry = header.expires() ? LoadWord(record + kRecordPrefixBytes) : 0;
    const std::string name(reinterpret_cast<const char*>(key.data()), key.size());
    const std::string shown = name.substr(0, name.find('.'));
    if (RecordChecksum(header, LoadWord(record + 8), expiry, key, value) != LoadWord(record + 16)) {
      return Fault("the record of " + shown + " doesn't match its checksum");
    }
    const uint64_t hash = HashKey(key, geometry_.hash_seed);
    const DirectoryRoot root(LoadWord(&reinterpret_cast<const Superblock*>(base_)->directory_root));
    const Placement place = Place(
        geometry_,
        {reinterpret_cast<const uint64_t*>(base_ + root.region_offset()), root.depth(), 0}, hash);
    if (place.bucket[0] != bucket && place.bucket[1] != bucket) {
      Fault(shown + " lies in a bucket that isn't its own");
    }
    if (!keys_.insert(name).second) Fault(shown + " is in two slots");
  }

  const ServerHost& server_;
  const std::byte* const base_;
  const Superblock plan_;
  const Geometry geometry_;
  const BlockPool& pool_;
  std::set<std::string> keys_;
  RestReport report_;
};

}  // namespace

RestReport CheckAtRest(const ServerHost& server) { return RestCheck(server).Run(); }

}  // namespace dunlin::simulator
