#include "common/fabric/verbs/server_device.h"

#include <cerrno>
#include <utility>

#include "common/fabric/verbs/cm_events.h"

namespace dunlin {
namespace {

// libsiw, up to rdma-core 44 at least, takes a queue for missing whose mapping begins at page 144
// of those of its process (SIW_INVAL_UOBJ_KEY). One that lies across that page keeps the others
// off.
constexpr uint32_t kSiwVendor = 0x626d74;
constexpr int kSiwCoverEntries = 32'768;  // of 32 bytes

CompletionQueue CoverBadMapping(ibv_context* context) {
  ibv_device_attr attributes{};
  CompletionQueue cover;
  if (ibv_query_device(context, &attributes) != 0 || attributes.vendor_id != kSiwVendor) {
    return cover;
  }
  cover.reset(ibv_create_cq(context, kSiwCoverEntries, nullptr, nullptr, 0));
  return cover;
}

}  // namespace

absl::StatusOr<std::shared_ptr<ServerDevice>> OpenServerDevice(ibv_context* context, uint8_t port) {
  auto device = std::make_shared<ServerDevice>();
  device->context = context;
  device->port = port;
  DUNLIN_ASSIGN_OR_RETURN(device->limits, ReadDeviceLimits(context, port));
  device->cover = CoverBadMapping(context);
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
