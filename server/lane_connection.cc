#include "server/lane_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace dunlin {

LaneConnection::LaneConnection(UniqueFd socket, UniqueFd process, uint32_t pid,
                               Descriptors descriptors)
    : socket_(std::move(socket)), process_(std::move(process)), descriptors_(descriptors) {
  peer_.pid = pid;
  peer_.can_be_fenced = process_.valid();
}

LaneConnection::LaneConnection(std::unique_ptr<EndpointPeer> remote)
    : remote_(std::move(remote)), descriptors_{-1, -1} {
  peer_.remote = remote_.get();
  peer_.can_be_fenced = true;
}

LaneConnection::Progress LaneConnection::Break(std::string why) {
  why_ = std::move(why);
  return Progress::kBroken;
}

LaneConnection::Progress LaneConnection::Apply(ServerCore& core) {
  waiting_ = false;
  LaneParser::Frame frame;
  while (pending() < kMostPending) {
    LaneParser::State state = parser_.Peek(frame);
    if (state == LaneParser::State::kBroken) return Break(parser_.why());
    if (state == LaneParser::State::kNeedsMore) break;
    PrefetchAhead(core);
    LaneResult result = ApplyLaneMessage(core, peer_, frame.kind, frame.body, output_);
    if (!result.note.empty()) note_ = std::move(result.note);
    if (result.verdict == LaneVerdict::kClose) return Break(std::move(result.why));
    if (result.verdict == LaneVerdict::kLater) {
      waiting_ = true;
      break;
    }
    parser_.Pop();
  }
  backlog_ = pending() >= kMostPending;
  return hung_up_ && !waiting_ ? Progress::kHungUp : Progress::kOpen;
}

// The lines that chains behind this one touch come while it is carried out.
void LaneConnection::PrefetchAhead(const ServerCore& core) {
  if (!remote()) return;
  constexpr size_t kAhead = 4;
  LaneParser::Frame frame;
  while (parser_.PeekAhead(kAhead, frame)) {
    if (frame.kind == LaneKind::kChainRequest) core.PrefetchChain(frame.body);
  }
}

LaneConnection::Progress LaneConnection::ReadRemote(ServerCore& core) {
  std::array<std::byte, kReadBytes> buffer;
  Transfer came = remote_->Receive(buffer);
  more_to_read_ = came.bytes != 0 && !came.drained;
  if (!came.why.empty()) return Break("receive: " + came.why);
  if (came.hung_up) hung_up_ = true;
  parser_.Append({buffer.data(), came.bytes});
  return Apply(core);
}

LaneConnection::Progress LaneConnection::Read(ServerCore& core) {
  if (remote()) return ReadRemote(core);
  std::array<std::byte, kReadBytes> buffer;
  ssize_t n;
  do {
    n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    if (errno == EAGAIN) return Progress::kOpen;
    if (errno != ECONNRESET) return Break(std::string("receive: ") + strerror(errno));
    n = 0;
  }
  if (n == 0) hung_up_ = true;
  parser_.Append({buffer.data(), static_cast<size_t>(n)});
  return Apply(core);
}

LaneConnection::Progress LaneConnection::Resume(ServerCore& core) { return Apply(core); }

LaneConnection::Progress LaneConnection::WriteRemote() {
  while (pending() > 0) {
    Transfer sent = remote_->Send(std::as_bytes(std::span(output_.bytes)).subspan(sent_));
    if (!sent.why.empty()) return Break("send: " + sent.why);
    if (sent.hung_up) return Progress::kHungUp;
    if (sent.bytes == 0) return Progress::kOpen;
    sent_ += sent.bytes;
    sent_total_ += sent.bytes;
  }
  AllSent();
  return Progress::kOpen;
}

void LaneConnection::AllSent() {
  output_.bytes.clear();
  if (output_.bytes.capacity() > kReadBytes) output_.bytes.shrink_to_fit();
  sent_ = 0;
}

LaneConnection::Progress LaneConnection::Write() {
  if (remote()) return WriteRemote();
  while (pending() > 0) {
    size_t bytes = pending();
    iovec part{output_.bytes.data() + sent_, bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    bool with_region = output_.region && output_.region->position == sent_;
    if (with_region) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      int fd = output_.region->read_only ? descriptors_.region_read_only : descriptors_.region;
      std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    } else if (output_.region) {
      part.iov_len = output_.region->position - sent_;
    }
    ssize_t n = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return Progress::kOpen;
      if (errno == EPIPE || errno == ECONNRESET) return Progress::kHungUp;
      return Break(std::string("send: ") + strerror(errno));
    }
    if (with_region) output_.region.reset();
    sent_ += static_cast<size_t>(n);
    sent_total_ += static_cast<uint64_t>(n);
  }
  AllSent();
  return Progress::kOpen;
}

void LaneConnection::NoteStall(uint64_t tick) {
  if (pending() == 0) {
    stalled_since_ = 0;
  } else if (stalled_since_ == 0 || sent_total_ != stalled_at_total_) {
    stalled_since_ = tick;
    stalled_at_total_ = sent_total_;
  }
}

}  // namespace dunlin
