#include "common/fabric/verbs/connect_data.h"

#include <cstring>

namespace dunlin {

ConnectData MakeConnectData(uint32_t message_bytes, uint32_t receive_depth) {
  ConnectData data{};
  data.bytes = sizeof data;
  data.magic = kConnectMagic;
  data.version = kConnectVersion;
  data.message_bytes = message_bytes;
  data.receive_depth = receive_depth;
  return data;
}

bool IsConnectData(std::span<const std::byte> received, ConnectData* parsed) {
  if (received.size() < sizeof *parsed) return false;
  std::memcpy(parsed, received.data(), sizeof *parsed);
  return parsed->magic == kConnectMagic && parsed->bytes >= sizeof *parsed &&
         parsed->bytes <= received.size();
}

std::string ParseConnectData(std::span<const std::byte> received, ConnectData* parsed,
                             ConnectVerdict* verdict) {
  *verdict = ConnectVerdict::kInvalid;
  if (!IsConnectData(received, parsed)) {
    return "the peer does not introduce itself as Dunlin (" + std::to_string(received.size()) +
           " bytes of private data)";
  }
  if (parsed->version != kConnectVersion) {
    *verdict = ConnectVerdict::kOtherVersion;
    return "the peer speaks version " + std::to_string(parsed->version) +
           " of the connection's set-up, this side version " + std::to_string(kConnectVersion) +
           ": bring both to the same release";
  }
  if (parsed->message_bytes < kLeastMessageBytes || parsed->message_bytes > kMostMessageBytes ||
      parsed->receive_depth < Credits::kLeastDepth || parsed->receive_depth > kMostReceiveDepth) {
    return "the peer's limits are out of range: messages of " +
           std::to_string(parsed->message_bytes) + " bytes, " +
           std::to_string(parsed->receive_depth) + " receive buffers";
  }
  *verdict = ConnectVerdict::kWelcome;
  return "";
}

std::string DescribeVerdict(uint16_t verdict) {
  switch (static_cast<ConnectVerdict>(verdict)) {
    case ConnectVerdict::kWelcome:
      return "no reason given";
    case ConnectVerdict::kOtherVersion:
      return "it speaks another version of the connection's set-up: bring both to the same release";
    case ConnectVerdict::kInvalid:
      return "it found this side's limits out of range";
    case ConnectVerdict::kTooMany:
      return "it has as many connections as it takes: close some, or raise its limit";
    case ConnectVerdict::kStopping:
      return "it is stopping";
    case ConnectVerdict::kNoResources:
      return "it lacks the resources for one more queue pair; its log says which";
    case ConnectVerdict::kOtherDevice:
      return "its region is not registered with the device that this connection reached; connect "
             "to the address that it names in its log";
  }
  return "verdict " + std::to_string(verdict) + ", which this release does not know";
}

}  // namespace dunlin
