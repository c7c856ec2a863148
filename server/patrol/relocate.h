#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/fabric/atomic_agent.h"
#include "common/layout/geometry.h"
#include "common/layout/slot.h"

namespace dunlin {

// Moves one record to another block of the same size class, in two steps: copy it, then swing the
// slot from the old word to the new one. Version and the mark of an unconditional put stay what
// they are, so that the move is no write to anybody.
//
// Who calls it owns the target: a block of a batch of the server's own that is unresolved until the
// slot names the block or it is given back. Without that, a sweep could take it for an orphan.

// Copies the record that `from` names into the block that `to` names (a block word: its fingerprint
// does not matter), with that block's generation and a new checksum. False: `from` is frozen or no
// word of a slab, or its record is implausible or damaged; the target may then hold anything.
// REQUIRES: the classes are equal, nobody else has the target, and the word was read from its slot
// less than half the grace period ago. Cost: a copy and two checksums of the record.
[[nodiscard]] bool CopyRecord(std::byte* base, const Geometry& geometry, SlotWord from,
                              SlotWord to);

// Swings the slot; the fingerprint is kept. True: the slot names the copy, and `from` is unlinked.
// False: the slot was changed meanwhile, the target is still unlinked. REQUIRES: CopyRecord.
[[nodiscard]] absl::StatusOr<bool> SwingToCopy(AtomicAgent& atomics, uint64_t slot_address,
                                               SlotWord from, SlotWord to);

}  // namespace dunlin
