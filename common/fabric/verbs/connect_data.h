#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "common/fabric/verbs/credits.h"

namespace dunlin {

// The private data with which the two sides of a connection introduce themselves: at most 56 bytes,
// the least that all transports carry. Their length comes first, since some transports pad.
// Little-endian.

inline constexpr size_t kMostConnectData = 56;
inline constexpr uint32_t kConnectMagic = 0x4c4e5544;  // "DUNL"
inline constexpr uint16_t kConnectVersion = 1;

inline constexpr uint32_t kLeastMessageBytes = 512;
inline constexpr uint32_t kMostMessageBytes = 1u << 20;
inline constexpr uint32_t kMostReceiveDepth = 4096;

enum class ConnectVerdict : uint16_t {
  kWelcome = 0,
  kOtherVersion = 1,  // of these data
  kInvalid = 2,       // a limit out of its range
  kTooMany = 3,       // connections
  kStopping = 4,
  kNoResources = 5,  // of the adapter or the system
  kOtherDevice = 6,  // the region isn't registered with the one that the connection came over
};

struct ConnectData {
  uint32_t bytes;  // of this struct
  uint32_t magic;
  uint16_t version;
  uint16_t verdict;           // the server's ConnectVerdict; 0 from clients
  uint32_t message_bytes;     // what each of the sender's receive buffers holds
  uint32_t receive_depth;     // how many of them there are: the receiver's first credits
  uint32_t replaces_session;  // a client's: the session that this one takes the place of, or 0
  uint64_t replaces_token;
};
static_assert(sizeof(ConnectData) == 32 && sizeof(ConnectData) <= kMostConnectData);
static_assert(std::has_unique_object_representations_v<ConnectData>);

ConnectData MakeConnectData(uint32_t message_bytes, uint32_t receive_depth);

// Empty, and `*parsed` filled, if `received` introduces a peer of this version with sane limits.
// Otherwise what is wrong; `*verdict` says it in short.
std::string ParseConnectData(std::span<const std::byte> received, ConnectData* parsed,
                             ConnectVerdict* verdict);

// Whether `received` starts like connect data of any version: then `verdict` can be believed.
bool IsConnectData(std::span<const std::byte> received, ConnectData* parsed);

// Why a server turned a client away, with the remedy.
std::string DescribeVerdict(uint16_t verdict);

}  // namespace dunlin
