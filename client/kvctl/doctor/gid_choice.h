#pragma once

#include <string>
#include <vector>

#include "client/kvctl/doctor/host_facts.h"

namespace dunlin::kvctl {

// How useful an entry of a RoCE port's GID table is for reaching another host, best first.
enum class GidRank {
  kRoutableV4,   // RoCEv2, of an IPv4 address
  kRoutableV6,   // RoCEv2, of an IPv6 address that is routed
  kLinkLocalV2,  // RoCEv2, of fe80::/10 or 169.254/16: this link only, and IPv6 needs its scope
  kVersion1,     // RoCEv1: raw Ethernet, not routed
  kUseless,      // all zero, or not understood
};

struct RankedGid {
  GidFacts gid;
  GidRank rank = GidRank::kUseless;
  std::string address;  // as people write it: "10.1.0.1", "fe80::1"
  std::string why;
};

// The entries of a RoCE port, best first, those of equal rank in the table's order. This explains;
// it chooses nothing: rdma_cm takes the entry of the address from which the route to the peer
// leaves, with the port's default type.
std::vector<RankedGid> RankGids(const std::vector<GidFacts>& gids);

// "10.1.0.1" for an IPv4-mapped GID, else the shortest form of the IPv6 address; empty if it is not
// a GID.
std::string GidAddress(const std::string& gid);

}  // namespace dunlin::kvctl
