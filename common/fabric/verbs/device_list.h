#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin {

// Which words a device's atomics are atomic against.
enum class VerbsAtomics {
  kNone,    // it has none: iWARP, mostly
  kDevice,  // all atomics that go through this device (IBV_ATOMIC_HCA)
  kGlobal,  // all agents of the machine, its CPUs included (IBV_ATOMIC_GLOB)
};

enum class VerbsTransport { kUnknown, kInfiniBand, kIwarp };  // RoCE is kInfiniBand
enum class VerbsLinkLayer { kUnspecified, kInfiniBand, kEthernet };

struct VerbsPort {
  uint32_t number = 0;  // 1 is the first
  bool active = false;
  VerbsLinkLayer link_layer = VerbsLinkLayer::kUnspecified;
  uint32_t max_mtu = 0, active_mtu = 0;  // bytes of payload in a packet
  uint32_t gid_entries = 0;
  uint32_t max_message_bytes = 0;
};

// What libibverbs says about a device: its limits, as the provider reports them. A limit that is
// reported is not a promise that so much can be had at once.
struct VerbsDevice {
  std::string name;     // "mlx5_0"
  absl::Status status;  // not OK: can't be opened or asked; nothing below means anything then
  VerbsTransport transport = VerbsTransport::kUnknown;
  std::string firmware;
  uint32_t vendor_id = 0, part_id = 0;
  VerbsAtomics atomics = VerbsAtomics::kNone;
  uint64_t max_mr_bytes = 0;
  uint32_t max_mr = 0;
  uint32_t max_qp = 0, max_qp_wr = 0;
  uint32_t max_qp_rd_atom = 0;       // READs and atomics that a QP answers at once
  uint32_t max_qp_init_rd_atom = 0;  // READs and atomics that a QP has under way at once
  uint32_t max_sge = 0, max_sge_rd = 0;
  uint32_t max_cq = 0, max_cqe = 0;
  std::vector<VerbsPort> ports;
};

// The devices that this process may use, in the library's order. Empty where the kernel has none.
// Opens each for a moment (milliseconds on hardware). Thread safe. Errors: Unavailable (the library
// fails as a whole).
absl::StatusOr<std::vector<VerbsDevice>> ListVerbsDevices();

}  // namespace dunlin
