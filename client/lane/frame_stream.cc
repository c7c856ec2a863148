#include "client/lane/frame_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr size_t kReadAtOnce = 16'384;
constexpr size_t kMaxDescriptors = 4;

std::string ErrnoText(int error) { return std::generic_category().message(error); }

// Takes the first descriptor of the message and closes all others.
void TakeDescriptors(msghdr& message, UniqueFd* descriptor) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      UniqueFd owned(fd);
      if (descriptor != nullptr && !descriptor->valid()) *descriptor = std::move(owned);
    }
  }
}

}  // namespace

void FrameStream::Queue(LaneKind kind, std::span<const std::byte> fixed,
                        std::span<const std::byte> array) {
  const size_t body = fixed.size() + array.size();
  DUNLIN_CHECK_LE(body, size_t{kMaxLaneBody});
  if (sent_ != 0) {
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
  }
  LaneFrame frame{};
  frame.bytes = static_cast<uint32_t>(body);
  frame.kind = static_cast<uint16_t>(kind);
  const auto header = std::as_bytes(std::span(&frame, 1));
  out_.insert(out_.end(), header.begin(), header.end());
  out_.insert(out_.end(), fixed.begin(), fixed.end());
  out_.insert(out_.end(), array.begin(), array.end());
  ++frames_sent_;
}

absl::Status FrameStream::SendNow() {
  while (broken_.ok() && unsent() != 0) {
    const ssize_t n =
        ::send(socket_.get(), out_.data() + sent_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent_ += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return absl::OkStatus();
    } else if (errno != EINTR) {
      return errno == EPIPE || errno == ECONNRESET ? BreakAsClosed()
                                                   : BreakByErrno("sending", errno);
    }
  }
  if (unsent() == 0) {
    out_.clear();
    sent_ = 0;
  }
  return broken_;
}

absl::Status FrameStream::SendUntil(size_t leave_unsent, Deadline deadline) {
  DUNLIN_RETURN_IF_ERROR(SendNow());
  while (unsent() > leave_unsent) {
    DUNLIN_RETURN_IF_ERROR(WaitFor(POLLOUT, deadline));
    DUNLIN_RETURN_IF_ERROR(SendNow());
  }
  return absl::OkStatus();
}

absl::StatusOr<FrameStream::Frame> FrameStream::Receive(Deadline deadline, UniqueFd* descriptor) {
  DUNLIN_RETURN_IF_ERROR(broken_);
  received_ = 0;
  if (in_.size() < kReadAtOnce) in_.resize(kReadAtOnce);
  for (;;) {
    DUNLIN_ASSIGN_OR_RETURN(const bool any, ReceiveSome(descriptor));
    if (!any) {
      if (absl::Status waited = WaitFor(POLLIN, deadline); !waited.ok()) return Break(waited);
      continue;
    }
    DUNLIN_ASSIGN_OR_RETURN(const size_t needed, BytesNeeded());
    if (received_ == needed && needed >= sizeof(LaneFrame)) break;
    if (received_ > needed) {
      return Break(absl::FailedPreconditionError(
          "the server sent more than was asked for: it does not speak this lane protocol"));
    }
    if (in_.size() < needed) in_.resize(needed);
  }
  LaneFrame frame;
  std::memcpy(&frame, in_.data(), sizeof frame);
  return Frame{static_cast<LaneKind>(frame.kind),
               std::span(in_).subspan(sizeof frame, frame.bytes)};
}

absl::StatusOr<size_t> FrameStream::BytesNeeded() {
  // A header that is not complete yet needs at least one byte more.
  if (received_ < sizeof(LaneFrame)) return sizeof(LaneFrame);
  LaneFrame frame;
  std::memcpy(&frame, in_.data(), sizeof frame);
  if (const std::string why = WhyNotAFrame(frame); !why.empty()) {
    return Break(MakeStatus(absl::StatusCode::kFailedPrecondition,
                            "what the server sent is not the lane protocol: " + why));
  }
  return sizeof frame + size_t{frame.bytes};
}

absl::StatusOr<bool> FrameStream::ReceiveSome(UniqueFd* descriptor) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  iovec room{in_.data() + received_, in_.size() - received_};
  for (;;) {
    msghdr message{};
    message.msg_iov = &room;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n > 0) {
      TakeDescriptors(message, descriptor);
      received_ += static_cast<size_t>(n);
      return true;
    }
    if (n == 0 || errno == ECONNRESET) return BreakAsClosed();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return BreakByErrno("receiving", errno);
  }
}

absl::Status FrameStream::CheckQuiet() {
  std::byte byte;
  while (broken_.ok()) {
    const ssize_t n = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0) {
      return Break(absl::FailedPreconditionError(
          "the server sent what nobody asked for: it does not speak this lane protocol"));
    }
    if (n == 0 || errno == ECONNRESET) return BreakAsClosed();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return absl::OkStatus();
    if (errno != EINTR) return BreakByErrno("receiving", errno);
  }
  return broken_;
}

absl::Status FrameStream::WaitFor(short events, Deadline deadline) {
  for (;;) {
    const int64_t left = deadline.NanosLeft();
    if (left == 0) {
      return absl::DeadlineExceededError((events & POLLIN) != 0
                                             ? "the server did not answer in time"
                                             : "the server did not take the message in time");
    }
    pollfd waited{socket_.get(), events, 0};
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    const int ready = ::ppoll(&waited, 1, &timeout, nullptr);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return BreakByErrno("waiting", errno);
  }
}

absl::Status FrameStream::Break(absl::Status why) {
  DUNLIN_CHECK(!why.ok());
  if (broken_.ok()) broken_ = std::move(why);
  return broken_;
}

absl::Status FrameStream::BreakByErrno(std::string_view doing, int error) {
  return Break(
      MakeStatus(absl::StatusCode::kUnavailable,
                 std::string(doing) + " on the connection to the server: " + ErrnoText(error)));
}

absl::Status FrameStream::BreakAsClosed() {
  return Break(absl::UnavailableError(
      "the server closed the connection: it has stopped, or it refused a message and says why in "
      "its log; a new session reaches it once it runs again"));
}

}  // namespace dunlin
