#include "common/fabric/verbs/verbs_atomic_agent.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/layout/word.h"

namespace dunlin {

VerbsAtomicAgent::VerbsAtomicAgent(std::unique_ptr<Loopback> loopback, uint64_t region_bytes)
    : loopback_(std::move(loopback)),
      region_bytes_(region_bytes),
      keys_(loopback_->device().memory.keys(false)) {}

absl::StatusOr<uint64_t> VerbsAtomicAgent::CompareSwap(uint64_t address, uint64_t compare,
                                                       uint64_t swap) {
  DUNLIN_CHECK(address % kWordBytes == 0 && address <= region_bytes_ - kWordBytes);
  const MemoryKey& key = keys_.At(address);
  std::byte* const found = loopback_->buffer().data();
  ibv_sge buffer{reinterpret_cast<uintptr_t>(found), kWordBytes, loopback_->local_key()};
  ibv_send_wr request{};
  request.sg_list = &buffer;
  request.num_sge = 1;
  request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.atomic = {key.address + (address - key.offset), compare, swap, key.key};
  DUNLIN_RETURN_IF_ERROR(loopback_->Execute(&request));
  return PlainWord(found);
}

}  // namespace dunlin
