#include "tests/end_to_end/server/raw_client.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "common/layout/word.h"

namespace dunlin::testing {

RawClient::RawClient(const std::string& path)
    : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  timeval limit{.tv_sec = 10, .tv_usec = 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd_.Reset();
}

RawClient::~RawClient() {
  if (region_ != nullptr) munmap(region_, hello_.region_bytes());
}

bool RawClient::SendBytes(std::string_view bytes) {
  return send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

void RawClient::SendSome(std::string_view bytes) {
  // What doesn't fit is dropped: the stream need not make sense any more.
  if (send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

bool RawClient::Send(LaneKind kind, std::string_view body) {
  LaneFrame frame{static_cast<uint32_t>(body.size()), static_cast<uint16_t>(kind), 0};
  std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
  bytes += body;
  return SendBytes(bytes);
}

bool RawClient::ReceiveBytes(char* to, size_t bytes) {
  while (bytes > 0) {
    iovec part{to, bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    if (n <= 0) return false;
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(h), sizeof fd);
      region_fd_.Reset(fd);
    }
    to += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

std::optional<RawClient::Message> RawClient::Receive() {
  LaneFrame frame;
  if (!ReceiveBytes(reinterpret_cast<char*>(&frame), sizeof frame)) return std::nullopt;
  if (!WhyNotAFrame(frame).empty()) return std::nullopt;
  Message message{static_cast<LaneKind>(frame.kind), std::string(frame.bytes, '\0')};
  if (!ReceiveBytes(message.body.data(), message.body.size())) return std::nullopt;
  return message;
}

bool RawClient::IsClosed() {
  char buffer[4096];
  for (;;) {
    ssize_t n = recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n == 0) return true;
    if (n < 0) return errno == ECONNRESET;
  }
}

std::optional<control::ControlReply> RawClient::Call(const control::ControlRequest& request) {
  if (!Send(LaneKind::kControlRequest, request.SerializeAsString())) return std::nullopt;
  std::optional<Message> message = Receive();
  control::ControlReply reply;
  if (!message || message->kind != LaneKind::kControlReply ||
      !reply.ParseFromString(message->body)) {
    return std::nullopt;
  }
  return reply;
}

bool RawClient::Hello(bool read_only) {
  control::ControlRequest request;
  request.mutable_hello()->set_layout_version(kLayoutVersion);
  request.mutable_hello()->set_client_name("raw client");
  request.mutable_hello()->set_read_only(read_only);
  std::optional<control::ControlReply> reply = Call(request);
  if (!reply || reply->code() != 0 || !region_fd_.valid()) return false;
  hello_ = reply->hello();
  void* base = mmap(nullptr, hello_.region_bytes(), read_only ? PROT_READ : PROT_READ | PROT_WRITE,
                    MAP_SHARED, region_fd_.get(), 0);
  if (base == MAP_FAILED) return false;
  region_ = static_cast<std::byte*>(base);
  return true;
}

bool RawClient::Ping() {
  control::ControlRequest request;
  request.mutable_ping();
  std::optional<control::ControlReply> reply = Call(request);
  return reply && reply->has_ping();
}

std::optional<control::StatusReply> RawClient::Status(bool count) {
  control::ControlRequest request;
  request.mutable_status()->set_count_index(count);
  std::optional<control::ControlReply> reply = Call(request);
  if (!reply || !reply->has_status()) return std::nullopt;
  return reply->status();
}

std::optional<RawClient::Blocks> RawClient::TakeBlocks(uint32_t size_class, uint32_t want) {
  BlocksRequest request{size_class, want, 0, 0};
  if (!Send(LaneKind::kBlocksRequest, {reinterpret_cast<const char*>(&request), sizeof request})) {
    return std::nullopt;
  }
  std::optional<Message> message = Receive();
  Blocks blocks;
  if (!message || message->kind != LaneKind::kBlocksReply ||
      message->body.size() < sizeof blocks.reply) {
    return std::nullopt;
  }
  std::memcpy(&blocks.reply, message->body.data(), sizeof blocks.reply);
  if (!WhyNotValid(blocks.reply, message->body.size()).empty()) return std::nullopt;
  if (blocks.reply.count == 0) return blocks;
  blocks.words.resize(blocks.reply.count);
  std::memcpy(blocks.words.data(), message->body.data() + sizeof blocks.reply,
              blocks.words.size() * sizeof blocks.words[0]);
  return blocks;
}

bool RawClient::Goodbye() {
  control::ControlRequest request;
  request.mutable_goodbye();
  std::optional<control::ControlReply> reply = Call(request);
  return reply && reply->has_goodbye();
}

uint64_t RawClient::tick() const { return LoadWord(region_ + offsetof(Superblock, tick)); }

ServerState RawClient::state() const {
  return static_cast<ServerState>(LoadWord(region_ + offsetof(Superblock, state)));
}

}  // namespace dunlin::testing
