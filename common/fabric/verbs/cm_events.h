#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/fabric/verbs/verbs_handles.h"

namespace dunlin {

// One event of the connection manager, copied and already acknowledged: unacknowledged ones would
// keep an id from being destroyed.
struct CmEvent {
  rdma_cm_event_type type;
  rdma_cm_id* id = nullptr;
  int status = 0;
  std::vector<std::byte> private_data;
  uint32_t reads_asked_of_us = 0;    // responder resources
  uint32_t reads_offered_to_us = 0;  // initiator depth
};

// The connection manager's events of some ids; never blocks without a deadline.
class CmEvents {
 public:
  // Errors: Unavailable (this kernel has no RDMA).
  static absl::StatusOr<CmEvents> Create();

  // The next event, if one is there.
  std::optional<CmEvent> Next();
  // The same, awaited. Errors: DeadlineExceeded.
  absl::StatusOr<CmEvent> Await(Deadline deadline);

  int fd() const { return channel_->fd; }
  rdma_event_channel* get() const { return channel_.get(); }

 private:
  EventChannel channel_;
};

// True for ids whose device can't be told yet, as those listening on all addresses.
inline bool HasNoDevice(const rdma_cm_id* id) { return id->verbs == nullptr; }

absl::Status SetNonBlocking(int fd);

}  // namespace dunlin
