#include "common/fabric/frame_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

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

FrameStream::FrameStream(UniqueFd socket) : socket_(std::move(socket)) {
  // What is no socket says so at its first use.
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  if (flags >= 0) (void)::fcntl(socket_.get(), F_SETFL, flags & ~O_NONBLOCK);
}

void FrameStream::Queue(LaneKind kind, std::span<const std::byte> fixed,
                        std::span<const std::byte> array) {
  const size_t body = fixed.size() + array.size();
  const bool chain = kind == LaneKind::kChainRequest;
  DUNLIN_CHECK_LE(body, size_t{chain ? kMaxChainBody : kMaxLaneBody});
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
    // A server whose replies nobody takes stops taking requests.
    const bool replies = take_chain_reply_ != nullptr;
    if (replies) DUNLIN_RETURN_IF_ERROR(ReceiveChainReplies());
    DUNLIN_RETURN_IF_ERROR(Await(replies ? POLLOUT | POLLIN : POLLOUT, deadline));
    DUNLIN_RETURN_IF_ERROR(SendNow());
  }
  return absl::OkStatus();
}

absl::StatusOr<FrameStream::Frame> FrameStream::Receive(Deadline deadline, UniqueFd* descriptor) {
  DUNLIN_RETURN_IF_ERROR(broken_);
  for (;;) {
    DUNLIN_ASSIGN_OR_RETURN(const bool whole, TakeChainReplies());
    if (whole) break;
    DUNLIN_ASSIGN_OR_RETURN(const bool any, ReceiveSome(descriptor, MSG_DONTWAIT));
    if (any) continue;
    if (absl::Status waited = Await(POLLIN, deadline); !waited.ok()) return Break(waited);
  }
  const size_t whole = sizeof next_ + next_.bytes;
  if (take_chain_reply_ == nullptr && received() > whole) {
    return Break(absl::FailedPreconditionError(
        "the server sent more than was asked for: it does not speak this lane protocol"));
  }
  const std::byte* body = in_.data() + begin_ + sizeof next_;
  begin_ += whole;
  return Frame{static_cast<LaneKind>(next_.kind), std::span(body, next_.bytes)};
}

absl::Status FrameStream::ReceiveChainReplies() {
  DUNLIN_RETURN_IF_ERROR(broken_);
  for (bool more = !std::exchange(drained_, false);;) {
    DUNLIN_ASSIGN_OR_RETURN(const bool other, TakeChainReplies());
    if (other) return BreakAsUnasked();
    if (!more) return absl::OkStatus();
    DUNLIN_ASSIGN_OR_RETURN(const bool any, ReceiveSome(nullptr, MSG_DONTWAIT));
    // Less than there was room for was all of it.
    more = any && end_ == in_.size();
    if (!any) return absl::OkStatus();
  }
}

absl::StatusOr<bool> FrameStream::TakeChainReplies() {
  for (;;) {
    DUNLIN_ASSIGN_OR_RETURN(const bool whole, ParseNext());
    if (!whole) return false;
    const bool chain_reply = static_cast<LaneKind>(next_.kind) == LaneKind::kChainReply;
    if (!chain_reply || take_chain_reply_ == nullptr) return true;
    const std::byte* body = in_.data() + begin_ + sizeof next_;
    begin_ += sizeof next_ + next_.bytes;
    if (absl::Status taken = take_chain_reply_({body, next_.bytes}); !taken.ok()) {
      return Break(std::move(taken));
    }
  }
}

absl::StatusOr<bool> FrameStream::ParseNext() {
  if (received() < sizeof next_) return false;
  std::memcpy(&next_, in_.data() + begin_, sizeof next_);
  if (const std::string why = WhyNotAFrame(next_); !why.empty()) {
    return Break(MakeStatus(absl::StatusCode::kFailedPrecondition,
                            "what the server sent is not the lane protocol: " + why));
  }
  const size_t whole = sizeof next_ + size_t{next_.bytes};
  if (received() >= whole) return true;
  MakeRoom(whole);
  return false;
}

void FrameStream::MakeRoom(size_t bytes) {
  if (in_.size() - begin_ >= bytes) return;
  if (received() != 0) std::memmove(in_.data(), in_.data() + begin_, received());
  end_ -= begin_;
  begin_ = 0;
  if (in_.size() < bytes) in_.resize(bytes);
}

absl::StatusOr<bool> FrameStream::ReceiveSome(UniqueFd* descriptor, int flags) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (in_.size() - end_ < kReadAtOnce / 2) MakeRoom(received() + kReadAtOnce);
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  iovec room{in_.data() + end_, in_.size() - end_};
  for (;;) {
    msghdr message{};
    message.msg_iov = &room;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket_.get(), &message, flags | MSG_CMSG_CLOEXEC);
    if (n > 0) {
      TakeDescriptors(message, descriptor);
      end_ += static_cast<size_t>(n);
      return true;
    }
    if (n == 0 || errno == ECONNRESET) return BreakAsClosed();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    // A wait ends by a signal as by anything else.
    if (errno == EINTR && (flags & MSG_DONTWAIT) == 0) return false;
    if (errno != EINTR) return BreakByErrno("receiving", errno);
  }
}

absl::Status FrameStream::CheckQuiet() {
  drained_ = false;
  if (take_chain_reply_ != nullptr) return ReceiveChainReplies();
  std::byte byte;
  while (broken_.ok()) {
    const ssize_t n = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0) return BreakAsUnasked();
    if (n == 0 || errno == ECONNRESET) return BreakAsClosed();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return absl::OkStatus();
    if (errno != EINTR) return BreakByErrno("receiving", errno);
  }
  return broken_;
}

void FrameStream::WaitFor(int64_t nanos) {
  // One system call instead of two, and a timer of the kernel's coarse kind.
  if (unsent() == 0 && take_chain_reply_ != nullptr && SetReceiveTimeout(nanos)) {
    const absl::StatusOr<bool> any = ReceiveSome(nullptr, 0);
    drained_ = any.ok() && *any && end_ != in_.size();
    return;
  }
  pollfd waited{socket_.get(), static_cast<short>(unsent() != 0 ? POLLIN | POLLOUT : POLLIN), 0};
  const timespec timeout{static_cast<time_t>(nanos / 1'000'000'000),
                         static_cast<long>(nanos % 1'000'000'000)};
  // Whatever ends the wait, the next receive or send finds out.
  (void)::ppoll(&waited, 1, &timeout, nullptr);
}

bool FrameStream::SetReceiveTimeout(int64_t nanos) {
  if (nanos == receive_timeout_ns_) return true;
  // Zero would be for ever.
  const int64_t micros = std::max<int64_t>(1, nanos / 1000);
  const timeval timeout{static_cast<time_t>(micros / 1'000'000),
                        static_cast<suseconds_t>(micros % 1'000'000)};
  if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0) {
    return false;
  }
  receive_timeout_ns_ = nanos;
  return true;
}

absl::Status FrameStream::Await(short events, Deadline deadline) {
  for (;;) {
    const int64_t left = deadline.NanosLeft();
    if (left == 0) {
      return absl::DeadlineExceededError((events & POLLOUT) == 0
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

absl::Status FrameStream::BreakAsUnasked() {
  return Break(absl::FailedPreconditionError(
      "the server sent what nobody asked for: it does not speak this lane protocol"));
}

absl::Status FrameStream::BreakAsClosed() {
  return Break(absl::UnavailableError(
      "the server closed the connection: it has stopped, or it refused a message and says why in "
      "its log; a new session reaches it once it runs again"));
}

}  // namespace dunlin
