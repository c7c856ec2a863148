#include "common/fabric/verbs/verbs_atomic_agent.h"

#include <algorithm>
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
  Swap one{address, compare, swap, 0};
  DUNLIN_RETURN_IF_ERROR(CompareSwapAll(std::span(&one, 1)));
  return one.found;
}

absl::Status VerbsAtomicAgent::CompareSwapAll(std::span<Swap> swaps) {
  while (!swaps.empty()) {
    const size_t count = std::min<size_t>(swaps.size(), Loopback::kMostRequests);
    DUNLIN_RETURN_IF_ERROR(ExecuteList(swaps.first(count)));
    swaps = swaps.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status VerbsAtomicAgent::ExecuteList(std::span<Swap> swaps) {
  ibv_send_wr requests[Loopback::kMostRequests] = {};
  ibv_sge buffers[Loopback::kMostRequests];
  std::byte* const found = loopback_->buffer().data();
  for (size_t i = 0; i < swaps.size(); ++i) {
    const Swap& s = swaps[i];
    DUNLIN_CHECK(s.address % kWordBytes == 0 && s.address <= region_bytes_ - kWordBytes);
    const MemoryKey& key = keys_.At(s.address);
    buffers[i] = {reinterpret_cast<uintptr_t>(found + i * kWordBytes), kWordBytes,
                  loopback_->local_key()};
    requests[i].sg_list = &buffers[i];
    requests[i].num_sge = 1;
    requests[i].opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    requests[i].wr.atomic = {key.address + (s.address - key.offset), s.compare, s.swap, key.key};
    requests[i].next = i + 1 < swaps.size() ? &requests[i + 1] : nullptr;
  }
  requests[swaps.size() - 1].send_flags = IBV_SEND_SIGNALED;
  DUNLIN_RETURN_IF_ERROR(loopback_->Execute(requests));
  for (size_t i = 0; i < swaps.size(); ++i) swaps[i].found = PlainWord(found + i * kWordBytes);
  return absl::OkStatus();
}

}  // namespace dunlin
