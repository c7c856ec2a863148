#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/layout/lane.h"
#include "common/layout/superblock.h"
#include "proto/control.pb.h"

namespace dunlin::testing {

// A client made of a bare socket and a mapping, which can also do what no good client does. Every
// receive gives up after some seconds.
class RawClient {
 public:
  explicit RawClient(const std::string& socket);  // connected() tells whether it worked
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return fd_.valid(); }
  bool SendBytes(std::string_view bytes);
  bool Send(LaneKind kind, std::string_view body);

  struct Message {
    LaneKind kind;
    std::string body;
  };
  // The next message; nothing if the server closed the connection or stayed silent.
  std::optional<Message> Receive();
  // Whether the server closes the connection within some seconds, whatever it still sends.
  bool IsClosed();

  std::optional<control::ControlReply> Call(const control::ControlRequest& request);
  // Opens a session and maps the region.
  bool Hello(bool read_only = false);
  bool Ping();
  std::optional<control::StatusReply> Status(bool count = false);
  struct Blocks {
    BlocksReply reply{};
    std::vector<uint64_t> words;
  };
  std::optional<Blocks> TakeBlocks(uint32_t size_class, uint32_t want);
  bool Goodbye();
  void HangUp() { fd_.Reset(); }
  int socket_fd() const { return fd_.get(); }
  // As much as the socket takes at once.
  void SendSome(std::string_view bytes);

  const control::HelloReply& hello() const { return hello_; }
  std::byte* region() const { return region_; }
  const Superblock& superblock() const { return *reinterpret_cast<const Superblock*>(region_); }
  uint64_t tick() const;
  ServerState state() const;
  int region_fd() const { return region_fd_.get(); }

 private:
  bool ReceiveBytes(char* to, size_t bytes);

  UniqueFd fd_;
  UniqueFd region_fd_;
  std::byte* region_ = nullptr;
  control::HelloReply hello_;
};

// Polls until `condition` holds; false if it does not within `seconds`.
template <typename Condition>
bool Eventually(Condition&& condition, int seconds = 10) {
  SystemClock clock;
  int64_t end = clock.NowNanos() + int64_t{seconds} * 1'000'000'000;
  while (!condition()) {
    if (clock.NowNanos() > end) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace dunlin::testing
