#include "common/fabric/verbs/verbs_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/fabric/verbs/memory_lock.h"

namespace dunlin {

absl::StatusOr<DeviceLimits> ReadDeviceLimits(ibv_context* device, uint8_t port) {
  DeviceLimits limits;
  limits.name = ibv_get_device_name(device->device);
  limits.iwarp = device->device->transport_type == IBV_TRANSPORT_IWARP;
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(device, &attributes); error != 0) {
    return UnavailableFrom("asking device " + limits.name + " for its limits", error);
  }
  ibv_port_attr port_attributes{};
  if (const int error = ibv_query_port(device, port, &port_attributes); error != 0) {
    return UnavailableFrom("asking port " + std::to_string(port) + " of device " + limits.name,
                           error);
  }
  limits.atomics = attributes.atomic_cap == IBV_ATOMIC_NONE   ? VerbsAtomics::kNone
                   : attributes.atomic_cap == IBV_ATOMIC_GLOB ? VerbsAtomics::kGlobal
                                                              : VerbsAtomics::kDevice;
  limits.max_qp_wr = static_cast<uint32_t>(attributes.max_qp_wr);
  limits.max_cqe = static_cast<uint32_t>(attributes.max_cqe);
  limits.max_reads_served = static_cast<uint32_t>(attributes.max_qp_rd_atom);
  limits.max_reads_started = static_cast<uint32_t>(attributes.max_qp_init_rd_atom);
  limits.max_mr_bytes = attributes.max_mr_size;
  limits.max_message_bytes = port_attributes.max_msg_sz;
  return limits;
}

absl::Status RegistrationError(const std::string& what, uint64_t bytes, int error) {
  std::string text = "registering " + std::to_string(bytes) + " bytes (" + what +
                     ") with the adapter: " + ErrnoText(error);
  if (error == ENOMEM || error == EAGAIN || error == EPERM) text += ". " + MemoryLockRemedy();
  return MakeStatus(absl::StatusCode::kResourceExhausted, text);
}

absl::StatusOr<RegisteredBuffer> RegisteredBuffer::Create(ibv_pd* pd, size_t bytes, int access) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "no memory for buffers of " + std::to_string(bytes) + " bytes: " + ErrnoText(errno));
  }
  RegisteredBuffer buffer;
  buffer.bytes_ = {static_cast<std::byte*>(memory), bytes};
  ::madvise(memory, bytes, MADV_DONTFORK);
  buffer.mr_.reset(ibv_reg_mr(pd, memory, bytes, access));
  if (buffer.mr_ == nullptr) return RegistrationError("buffers of a connection", bytes, errno);
  return buffer;
}

RegisteredBuffer::RegisteredBuffer(RegisteredBuffer&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), mr_(std::move(other.mr_)) {}

RegisteredBuffer& RegisteredBuffer::operator=(RegisteredBuffer&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mr_, other.mr_);
  return *this;
}

RegisteredBuffer::~RegisteredBuffer() {
  mr_.reset();
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace dunlin
