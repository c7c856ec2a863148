#include "common/fabric/verbs/device_list.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace dunlin {
namespace {

struct CloseDevice {
  // A device that was only asked has nothing in flight; there is nobody to tell of a failure.
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};

uint32_t Clamped(int value) { return value < 0 ? 0 : static_cast<uint32_t>(value); }

uint32_t BytesOf(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

VerbsTransport TransportOf(const ibv_device& device) {
  switch (device.transport_type) {
    case IBV_TRANSPORT_IB:
      return VerbsTransport::kInfiniBand;
    case IBV_TRANSPORT_IWARP:
      return VerbsTransport::kIwarp;
    default:
      return VerbsTransport::kUnknown;
  }
}

VerbsAtomics AtomicsOf(ibv_atomic_cap capability) {
  switch (capability) {
    case IBV_ATOMIC_HCA:
      return VerbsAtomics::kDevice;
    case IBV_ATOMIC_GLOB:
      return VerbsAtomics::kGlobal;
    default:
      return VerbsAtomics::kNone;
  }
}

VerbsLinkLayer LinkLayerOf(uint8_t link_layer) {
  switch (link_layer) {
    case IBV_LINK_LAYER_INFINIBAND:
      return VerbsLinkLayer::kInfiniBand;
    case IBV_LINK_LAYER_ETHERNET:
      return VerbsLinkLayer::kEthernet;
    default:
      return VerbsLinkLayer::kUnspecified;
  }
}

void CopyLimits(const ibv_device_attr& from, VerbsDevice* to) {
  to->firmware.assign(from.fw_ver, ::strnlen(from.fw_ver, sizeof(from.fw_ver)));
  to->vendor_id = from.vendor_id;
  to->part_id = from.vendor_part_id;
  to->atomics = AtomicsOf(from.atomic_cap);
  to->max_mr_bytes = from.max_mr_size;
  to->max_mr = Clamped(from.max_mr);
  to->max_qp = Clamped(from.max_qp);
  to->max_qp_wr = Clamped(from.max_qp_wr);
  to->max_qp_rd_atom = Clamped(from.max_qp_rd_atom);
  to->max_qp_init_rd_atom = Clamped(from.max_qp_init_rd_atom);
  to->max_sge = Clamped(from.max_sge);
  to->max_sge_rd = Clamped(from.max_sge_rd);
  to->max_cq = Clamped(from.max_cq);
  to->max_cqe = Clamped(from.max_cqe);
}

absl::Status Failed(const char* call, int error) {
  return absl::UnavailableError(absl::StrCat(call, ": ", std::strerror(error)));
}

absl::Status QueryPorts(ibv_context* context, uint32_t count, VerbsDevice* device) {
  for (uint32_t number = 1; number <= count; ++number) {
    ibv_port_attr attributes{};
    if (const int error = ibv_query_port(context, static_cast<uint8_t>(number), &attributes)) {
      return Failed("ibv_query_port", error);
    }
    VerbsPort port;
    port.number = number;
    port.active = attributes.state == IBV_PORT_ACTIVE;
    port.link_layer = LinkLayerOf(attributes.link_layer);
    port.max_mtu = BytesOf(attributes.max_mtu);
    port.active_mtu = BytesOf(attributes.active_mtu);
    port.gid_entries = Clamped(attributes.gid_tbl_len);
    port.max_message_bytes = attributes.max_msg_sz;
    device->ports.push_back(port);
  }
  return absl::OkStatus();
}

absl::Status Query(ibv_device* from, VerbsDevice* device) {
  errno = 0;
  const std::unique_ptr<ibv_context, CloseDevice> context(ibv_open_device(from));
  if (context == nullptr) return Failed("ibv_open_device", errno != 0 ? errno : EIO);
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context.get(), &attributes)) {
    return Failed("ibv_query_device", error);
  }
  CopyLimits(attributes, device);
  return QueryPorts(context.get(), attributes.phys_port_cnt, device);
}

}  // namespace

absl::StatusOr<std::vector<VerbsDevice>> ListVerbsDevices() {
  int count = 0;
  errno = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list == nullptr) {
    // A kernel without RDMA has no devices; that is an answer and no error.
    if (errno == ENOSYS || errno == ENOENT) return std::vector<VerbsDevice>();
    return Failed("ibv_get_device_list", errno);
  }
  std::vector<VerbsDevice> devices;
  for (int i = 0; i < count; ++i) {
    VerbsDevice device;
    device.name = ibv_get_device_name(list[i]);
    device.transport = TransportOf(*list[i]);
    device.status = Query(list[i], &device);
    devices.push_back(std::move(device));
  }
  ibv_free_device_list(list);
  return devices;
}

}  // namespace dunlin
