#include "common/fabric/verbs/server_device.h"

#include <cerrno>
#include <utility>

#include "common/fabric/verbs/cm_events.h"

namespace dunlin {

absl::StatusOr<std::shared_ptr<ServerDevice>> OpenServerDevice(ibv_context* context, uint8_t port) {
  auto device = std::make_shared<ServerDevice>();
  device->context = context;
  device->port = port;
  DUNLIN_ASSIGN_OR_RETURN(device->limits, ReadDeviceLimits(context, port));
  device->pd.reset(ibv_alloc_pd(context));
  if (device->pd == nullptr) {
    return UnavailableFrom("allocating a protection domain on " + device->limits.name, errno);
  }
  device->channel.reset(ibv_create_comp_channel(context));
  if (device->channel == nullptr) {
    return UnavailableFrom("creating a completion channel on " + device->limits.name, errno);
  }
  DUNLIN_RETURN_IF_ERROR(SetNonBlocking(device->channel->fd));
  DUNLIN_RETURN_IF_ERROR(SetNonBlocking(context->async_fd));
  return device;
}

}  // namespace dunlin
