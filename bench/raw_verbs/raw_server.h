#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/raw_verbs/raw_connection.h"
#include "bench/raw_verbs/raw_layout.h"

namespace dunlin::bench {

// The passive side: memory that clients READ, WRITE and swap a word of without its doing, and an
// echo for their messages. One thread.
class RawServer {
 public:
  // Port 0: any that is free.
  static absl::StatusOr<std::unique_ptr<RawServer>> Listen(const std::string& address,
                                                           uint16_t port);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  uint16_t port() const;

  // Serves any number of clients until the connection manager fails; a client's failure ends only
  // its connection.
  absl::Status Serve();

 private:
  struct Connection {
    CmId id;
    std::unique_ptr<QueuePair> pair;
    PollMode poll = PollMode::kBlock;
    uint32_t seat = 0;  // which of the buffers for messages are its own
  };

  RawServer();
  // Waits until there is something to do.
  absl::Status Wait(int timeout_ms);
  absl::Status HandleEvents();
  absl::Status Accept(CmId id, const RawHello& hello);
  // Sends each message that came back to where it came from.
  absl::Status Echo(Connection& connection);
  absl::Status EchoOne(Connection& connection, const ibv_wc& message);
  void ServeConnections();
  void Close(const rdma_cm_id* id);
  std::byte* Message(const Connection& connection, uint64_t index);

  std::vector<std::byte> memory_;  // the region, then the buffers for messages
  EventChannel events_;
  CmId listener_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<bool> seats_;
};

}  // namespace dunlin::bench
