#include "common/fabric/verbs/cm_events.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <utility>

namespace dunlin {

absl::Status SetNonBlocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return absl::OkStatus();
  return UnavailableFrom("making a descriptor non-blocking", errno);
}

absl::StatusOr<CmEvents> CmEvents::Create() {
  CmEvents events;
  events.channel_.reset(rdma_create_event_channel());
  if (events.channel_ == nullptr) {
    const int error = errno;
    return MakeStatus(
        absl::StatusCode::kUnavailable,
        "RDMA is not usable here: the connection manager can't be opened (" + ErrnoText(error) +
            "). Load the module rdma_ucm, give the process /dev/infiniband (a container needs the "
            "devices and the network namespace of the adapter), or use tcp://; 'kvctl doctor' "
            "says more");
  }
  DUNLIN_RETURN_IF_ERROR(SetNonBlocking(events.fd()));
  return events;
}

std::optional<CmEvent> CmEvents::Next() {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel_.get(), &event) != 0) return std::nullopt;
  CmEvent copy{event->event, event->id, event->status, {}, 0, 0};
  const rdma_conn_param& connection = event->param.conn;
  if (connection.private_data != nullptr) {
    const auto* data = static_cast<const std::byte*>(connection.private_data);
    copy.private_data.assign(data, data + connection.private_data_len);
  }
  copy.reads_asked_of_us = connection.responder_resources;
  copy.reads_offered_to_us = connection.initiator_depth;
  rdma_ack_cm_event(event);
  return copy;
}

absl::StatusOr<CmEvent> CmEvents::Await(Deadline deadline) {
  for (;;) {
    if (std::optional<CmEvent> event = Next()) return *std::move(event);
    const int64_t left = deadline.NanosLeft();
    if (left == 0) return absl::DeadlineExceededError("the deadline came first");
    pollfd waited{fd(), POLLIN, 0};
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    if (::ppoll(&waited, 1, &timeout, nullptr) < 0 && errno != EINTR) {
      return UnavailableFrom("waiting for the connection manager", errno);
    }
  }
}

}  // namespace dunlin
