#include "server/patrol/relocate.h"

#include <cstring>

#include "common/base/check.h"
#include "common/base/mutation.h"
#include "common/base/status.h"
#include "common/layout/checksum.h"
#include "common/layout/record.h"
#include "common/layout/word.h"
#include "common/protocol/machine.h"

namespace dunlin {

bool CopyRecord(std::byte* base, const Geometry& geometry, SlotWord from, SlotWord to) {
  DUNLIN_CHECK(from.size_class() == to.size_class(), "a record keeps its size class");
  if (from.frozen() && !DUNLIN_MUTATION(kRelocateFrozen)) return false;
  if (!IsSlabClass(from.size_class()) || !InHeap(geometry, from)) return false;
  const std::byte* source = base + geometry.RecordAddress(from);
  const RecordHeader old(LoadWord(source));
  const uint64_t bytes = old.record_bytes();
  if (old.generation() != from.generation() || !old.plausible() ||
      bytes > BlockBytes(from.size_class())) {
    return false;
  }
  std::byte* target = base + geometry.RecordAddress(to);
  std::memcpy(target, source, bytes);
  // Of the copy, which nobody else writes.
  const RecordHeader header =
      RecordHeader::Make(to.generation(), old.unconditional() || DUNLIN_MUTATION(kRelocateRemarked),
                         old.expires(), old.key_bytes(), old.value_bytes());
  const uint64_t version = PlainWord(target + offsetof(RecordPrefix, version));
  const uint64_t expiry = old.expires() ? PlainWord(target + kRecordPrefixBytes) : 0;
  const auto checksum = [&](RecordHeader sealed) {
    return RecordChecksum(sealed, version, expiry, {target + old.key_offset(), old.key_bytes()},
                          {target + old.value_offset(), old.value_bytes()});
  };
  // Damage is to be seen by its readers, not sealed in anew.
  if (PlainWord(target + offsetof(RecordPrefix, checksum)) != checksum(old)) return false;
  SetPlainWord(target, header.raw());
  SetPlainWord(target + offsetof(RecordPrefix, checksum), checksum(header));
  return true;
}

absl::StatusOr<bool> SwingToCopy(AtomicAgent& atomics, uint64_t slot_address, SlotWord from,
                                 SlotWord to) {
  const SlotWord copy = to.WithFingerprint(from.fingerprint());
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t found,
                          atomics.CompareSwap(slot_address, from.raw(), copy.raw()));
  return found == from.raw();
}

}  // namespace dunlin
