#include "client/kvctl/doctor/gid_choice.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <utility>

namespace dunlin::kvctl {
namespace {

bool Parse(const std::string& gid, in6_addr* address) {
  return ::inet_pton(AF_INET6, gid.c_str(), address) == 1;
}

bool IsLinkLocal(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return address.s6_addr[12] == 169 && address.s6_addr[13] == 254;
  }
  return IN6_IS_ADDR_LINKLOCAL(&address);
}

RankedGid Rank(const GidFacts& gid) {
  RankedGid ranked{gid, GidRank::kUseless, GidAddress(gid.gid), ""};
  in6_addr address;
  if (!Parse(gid.gid, &address) || IN6_IS_ADDR_UNSPECIFIED(&address)) {
    ranked.why = "never: it is no address";
  } else if (gid.type != "RoCE v2") {
    ranked.rank = GidRank::kVersion1;
    ranked.why = "last: RoCEv1 is not routed, and both ends must be set to it";
  } else if (IsLinkLocal(address)) {
    ranked.rank = GidRank::kLinkLocalV2;
    ranked.why = "only on this link: a link-local address is not routed";
  } else if (IN6_IS_ADDR_V4MAPPED(&address)) {
    ranked.rank = GidRank::kRoutableV4;
    ranked.why = "first: RoCEv2 with an IPv4 address, routable";
  } else {
    ranked.rank = GidRank::kRoutableV6;
    ranked.why = "RoCEv2 with an IPv6 address, routable";
  }
  return ranked;
}

}  // namespace

std::string GidAddress(const std::string& gid) {
  in6_addr address;
  if (!Parse(gid, &address)) return "";
  char text[INET6_ADDRSTRLEN];
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return ::inet_ntop(AF_INET, address.s6_addr + 12, text, sizeof(text));
  }
  return ::inet_ntop(AF_INET6, &address, text, sizeof(text));
}

std::vector<RankedGid> RankGids(const std::vector<GidFacts>& gids) {
  std::vector<RankedGid> ranked;
  for (const GidFacts& gid : gids) ranked.push_back(Rank(gid));
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedGid& a, const RankedGid& b) { return a.rank < b.rank; });
  return ranked;
}

}  // namespace dunlin::kvctl
