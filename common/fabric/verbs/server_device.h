#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/fabric/verbs/endpoint_options.h"
#include "common/fabric/verbs/region_memory.h"
#include "common/fabric/verbs/verbs_device.h"

namespace dunlin {

// One adapter through which a server's region is reached.
struct ServerDevice {
  ibv_context* context = nullptr;  // librdmacm's; never closed
  uint8_t port = 1;
  DeviceLimits limits;
  ProtectionDomain pd;
  CompletionQueue cover;      // see OpenServerDevice; mostly none
  CompletionChannel channel;  // of all its peers' completion queues; non-blocking
  RegionMemory memory;
  bool removed = false;
};

// Opens what all peers of the device share, without the region.
absl::StatusOr<std::shared_ptr<ServerDevice>> OpenServerDevice(ibv_context* context, uint8_t port);

}  // namespace dunlin
