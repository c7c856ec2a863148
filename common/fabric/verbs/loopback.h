#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/fabric/verbs/server_device.h"
#include "common/fabric/verbs/verbs_device.h"
#include "common/fabric/verbs/verbs_handles.h"

namespace dunlin {

// Two queue pairs of one adapter, connected to each other: how the server's own verbs go through
// the same agent as its clients'. Connected by hand, without the connection manager, which would
// need a listener and events served meanwhile: both ends are here, so whatever identifies the port
// to itself will do, and adapters that need a manager (iWARP) have no atomics, for which this is.
class Loopback {
 public:
  static constexpr uint32_t kBufferBytes = 4096;
  static constexpr uint32_t kMostRequests = 16;  // of a list
  static constexpr std::chrono::milliseconds kPatience{2000};

  // Errors: Unavailable, ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<Loopback>> Open(std::shared_ptr<ServerDevice> device);

  // Posts the list, whose last request alone is signalled, and waits for its completion, for
  // kPatience at most. After an error nothing more can be posted.
  absl::Status Execute(ibv_send_wr* requests);

  // Registered for local writing and everything remote.
  std::span<std::byte> buffer() const { return buffer_.bytes(); }
  uint32_t local_key() const { return buffer_.local_key(); }
  uint32_t remote_key() const { return buffer_.remote_key(); }
  const ServerDevice& device() const { return *device_; }

 private:
  explicit Loopback(std::shared_ptr<ServerDevice> device) : device_(std::move(device)) {}
  absl::Status MakeQueuePairs();
  absl::Status Connect(ibv_qp* qp, uint32_t to);
  absl::Status AddressSelf(const ibv_port_attr& port, ibv_ah_attr* address) const;
  absl::Status AwaitCompletion();

  std::shared_ptr<ServerDevice> device_;
  RegisteredBuffer buffer_;
  CompletionChannel channel_;
  CompletionQueue cq_;
  QueuePairHandle asking_;
  QueuePairHandle answering_;
  absl::Status broken_;
};

// Whether the adapter's atomics do what the protocol relies on: posted as one list, a WRITE, a
// compare-and-swap and a READ take effect in this order. FailedPrecondition if they don't.
absl::Status TestOrderOfAtomics(const std::shared_ptr<ServerDevice>& device);

}  // namespace dunlin
