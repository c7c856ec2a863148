#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/fabric/verbs/device_list.h"
#include "common/fabric/verbs/verbs_handles.h"

namespace dunlin {

// What the fabric wants to know of an open device and one of its ports.
struct DeviceLimits {
  std::string name;
  bool iwarp = false;
  VerbsAtomics atomics = VerbsAtomics::kNone;
  uint32_t max_qp_wr = 0;
  uint32_t max_cqe = 0;
  uint32_t max_reads_served = 0;   // READs and atomics that a queue pair answers at once
  uint32_t max_reads_started = 0;  // ... that it has under way at once
  uint64_t max_mr_bytes = 0;
  uint32_t max_message_bytes = 0;
};

absl::StatusOr<DeviceLimits> ReadDeviceLimits(ibv_context* device, uint8_t port);

// Pages of this process, registered with an adapter. They are not inherited by a child: a page that
// the adapter writes to must not be copied to a child on write.
class RegisteredBuffer {
 public:
  // Zeroed. Errors: ResourceExhausted, with the remedy.
  static absl::StatusOr<RegisteredBuffer> Create(ibv_pd* pd, size_t bytes, int access);
  RegisteredBuffer() = default;
  RegisteredBuffer(RegisteredBuffer&& other) noexcept;
  RegisteredBuffer& operator=(RegisteredBuffer&& other) noexcept;
  ~RegisteredBuffer();

  std::span<std::byte> bytes() const { return bytes_; }
  uint32_t local_key() const { return mr_->lkey; }
  uint32_t remote_key() const { return mr_->rkey; }

 private:
  std::span<std::byte> bytes_;
  MemoryRegion mr_;
};

// Why ibv_reg_mr failed, with the remedy.
absl::Status RegistrationError(const std::string& what, uint64_t bytes, int error);

}  // namespace dunlin
