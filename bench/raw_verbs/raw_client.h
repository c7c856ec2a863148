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
#include "common/base/random.h"

namespace dunlin::bench {

// What costs least: where there is one CPU, nothing completes while it spins.
PollMode DefaultPollMode();

struct RawClientOptions {
  std::string address;
  uint16_t port = 0;
  std::string source;  // local address to bind; empty: whatever leads to `address`
  PollMode poll = DefaultPollMode();
  // How the server waits for PingPong()'s messages. Other than kBlock it keeps a CPU busy for as
  // long as this client is connected.
  PollMode server_poll = PollMode::kBlock;
  bool inline_payloads = true;  // small payloads travel in the work request, where the device can
};

// What verbs cost with nothing around them: the limit that a store on verbs is measured against.
//
// Each operation is one ibv_post_send and the wait for its last completion, and returns the ticks
// (TscNow) from just before the post until just after the completion was seen. It then checks, on
// its own time, that it had its effect: DataLoss if not. After any error but FailedPrecondition the
// client is of no further use. One thread at a time.
class RawClient {
 public:
  // Connects to a RawServer. Takes at most some ten seconds.
  static absl::StatusOr<std::unique_ptr<RawClient>> Connect(const RawClientOptions& options);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // READs `bytes` bytes at a random place. REQUIRES: 0 < bytes <= kReadArea / 2.
  absl::StatusOr<uint64_t> Read(uint32_t bytes);
  // Two READs of independent places in one post: of `bytes` bytes and of 8.
  absl::StatusOr<uint64_t> ReadPair(uint32_t bytes = 64);
  // WRITEs `bytes` bytes at a random place. REQUIRES: 0 < bytes <= kWriteArea / 2.
  absl::StatusOr<uint64_t> Write(uint32_t bytes);
  // A WRITE and, behind it in one post, a compare-and-swap that succeeds. FailedPrecondition if
  // either side's device has no atomics. No other client may do the same at the same time.
  absl::StatusOr<uint64_t> WriteCas(uint32_t bytes = 64);
  // SENDs a message that the server sends back. REQUIRES: 0 < bytes <= kMessageBytes.
  absl::StatusOr<uint64_t> PingPong(uint32_t bytes);

  bool has_atomics() const { return offer_.has_atomics != 0 && pair_->has_atomics(); }
  std::string device_name() const { return ibv_get_device_name(id_->verbs->device); }
  bool iwarp() const { return pair_->iwarp(); }

 private:
  explicit RawClient(const RawClientOptions& options);
  absl::Status Resolve();
  absl::Status Handshake();
  absl::Status Expect(rdma_cm_event_type type, CmEvent& event);

  // Work requests between a place of the local memory and one of the server's.
  ibv_send_wr Request(ibv_wr_opcode opcode, ibv_sge& part, uint64_t remote_offset) const;
  ibv_sge Part(size_t local_offset, uint32_t bytes) const;
  void AllowInline(ibv_send_wr& request) const;

  // Posts and waits until `completions` of them came.
  absl::StatusOr<uint64_t> Run(ibv_send_wr* chain, int completions = 1);
  absl::Status Await(int completions);
  absl::Status CheckDeadline(uint64_t& polls);
  absl::Status AwaitNotification();

  size_t RandomPlace(size_t area, uint32_t bytes);
  void StampSource(uint32_t bytes);
  // READs what was written back.
  absl::Status CheckWritten(size_t remote_offset, uint32_t bytes);
  absl::Status LearnWord();
  uint64_t LoadWordSink() const;
  bool Brought(size_t local_offset, size_t place, uint32_t bytes) const;

  const RawClientOptions options_;
  std::vector<std::byte> expected_;  // what the server's area for READs holds
  std::vector<std::byte> memory_;
  EventChannel events_;
  CmId id_;
  std::unique_ptr<QueuePair> pair_;
  RawOffer offer_;
  Random random_{1};
  uint64_t stamp_ = 0;
  bool word_known_ = false;
  uint64_t word_ = 0;
  int64_t deadline_ = 0;
};

}  // namespace dunlin::bench
