#include "client/kvctl/doctor/dcb_query.h"

#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvctl {
namespace {

constexpr size_t kNameBytes = 16;  // IFNAMSIZ
constexpr timeval kPatience = {1, 0};

struct Request {
  nlmsghdr header;
  dcbmsg message;
  nlattr attribute;
  char name[kNameBytes];
};
static_assert(sizeof(Request) == NLMSG_HDRLEN + 4 + NLA_HDRLEN + kNameBytes);

absl::Status Failed(const char* what, int error) {
  return absl::UnavailableError(absl::StrCat("DCB_CMD_IEEE_GET: ", what, std::strerror(error)));
}

// The payload of the first attribute of this type; empty if there is none.
std::span<const std::byte> Find(std::span<const std::byte> attributes, uint16_t type) {
  while (attributes.size() >= sizeof(nlattr)) {
    nlattr attribute;
    std::memcpy(&attribute, attributes.data(), sizeof(attribute));
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > attributes.size()) return {};
    if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
      return attributes.subspan(NLA_HDRLEN, attribute.nla_len - NLA_HDRLEN);
    }
    const size_t whole = NLA_ALIGN(attribute.nla_len);
    if (whole >= attributes.size()) return {};
    attributes = attributes.subspan(whole);
  }
  return {};
}

absl::StatusOr<size_t> Exchange(const Request& request, std::span<std::byte> answer) {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (socket.get() < 0) return Failed("socket: ", errno);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  if (::send(socket.get(), &request, sizeof(request), 0) < 0) return Failed("send: ", errno);
  const ssize_t received = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (received < 0) return Failed("recv: ", errno);
  return static_cast<size_t>(received);
}

absl::StatusOr<uint8_t> PfcIn(std::span<const std::byte> answer) {
  nlmsghdr header;
  if (answer.size() < sizeof(header) + sizeof(dcbmsg)) return Failed("", EBADMSG);
  std::memcpy(&header, answer.data(), sizeof(header));
  if (header.nlmsg_type == NLMSG_ERROR) {
    int error = 0;
    std::memcpy(&error, answer.data() + sizeof(header), sizeof(error));
    return Failed("", error < 0 ? -error : EBADMSG);
  }
  const auto ieee = Find(answer.subspan(sizeof(header) + sizeof(dcbmsg)), DCB_ATTR_IEEE);
  const auto pfc = Find(ieee, DCB_ATTR_IEEE_PFC);
  if (pfc.size() < sizeof(ieee_pfc)) {
    return absl::UnavailableError("DCB_CMD_IEEE_GET: the driver tells nothing of PFC");
  }
  return static_cast<uint8_t>(pfc[offsetof(ieee_pfc, pfc_en)]);
}

}  // namespace

absl::StatusOr<uint8_t> QueryPfc(const std::string& netdev) {
  if (netdev.size() >= kNameBytes) return Failed("", ENODEV);
  Request request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = RTM_GETDCB;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.message.dcb_family = AF_UNSPEC;
  request.message.cmd = DCB_CMD_IEEE_GET;
  request.attribute.nla_type = DCB_ATTR_IFNAME;
  request.attribute.nla_len = static_cast<uint16_t>(NLA_HDRLEN + netdev.size() + 1);
  std::memcpy(request.name, netdev.data(), netdev.size());
  std::array<std::byte, 16384> answer{};
  DUNLIN_ASSIGN_OR_RETURN(const size_t received, Exchange(request, answer));
  return PfcIn(std::span(answer).first(received));
}

}  // namespace dunlin::kvctl
