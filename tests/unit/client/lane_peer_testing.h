#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/unique_fd.h"
#include "common/layout/lane.h"
#include "proto/control.pb.h"

namespace dunlin {

// The server's end of a lane, as a test plays it. Reads and writes block; a test that hangs is
// ended by ctest.
class LanePeer {
 public:
  explicit LanePeer(UniqueFd socket) : socket_(std::move(socket)) {}

  struct Message {
    LaneKind kind;
    std::string body;
  };
  // Nothing when the other side has closed.
  std::optional<Message> Read() {
    LaneFrame frame;
    if (!ReadExactly(&frame, sizeof frame)) return std::nullopt;
    Message message{static_cast<LaneKind>(frame.kind), std::string(frame.bytes, '\0')};
    if (!ReadExactly(message.body.data(), message.body.size())) return std::nullopt;
    return message;
  }
  control::ControlRequest ReadControl() {
    control::ControlRequest request;
    const std::optional<Message> message = Read();
    DUNLIN_CHECK(message.has_value() && message->kind == LaneKind::kControlRequest);
    DUNLIN_CHECK(request.ParseFromString(message->body));
    return request;
  }

  static std::string Frame(LaneKind kind, std::string_view body) {
    LaneFrame frame{static_cast<uint32_t>(body.size()), static_cast<uint16_t>(kind), 0};
    std::string bytes(reinterpret_cast<const char*>(&frame), sizeof frame);
    return bytes.append(body);
  }
  // False when the other side has closed.
  bool Write(std::string_view bytes, int descriptor = -1) {
    while (!bytes.empty()) {
      iovec part{const_cast<char*>(bytes.data()), bytes.size()};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      if (descriptor >= 0) AddDescriptor(message, control, sizeof control, descriptor);
      const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
      if (n < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
      descriptor = -1;
    }
    return true;
  }
  bool Send(LaneKind kind, std::string_view body, int descriptor = -1) {
    return Write(Frame(kind, body), descriptor);
  }
  bool SendControl(const control::ControlReply& reply, int descriptor = -1) {
    return Send(LaneKind::kControlReply, reply.SerializeAsString(), descriptor);
  }
  bool SendBlocks(const BlocksReply& fixed, std::span<const uint64_t> words) {
    std::string body(reinterpret_cast<const char*>(&fixed), sizeof fixed);
    body.append(reinterpret_cast<const char*>(words.data()), words.size_bytes());
    return Send(LaneKind::kBlocksReply, body);
  }
  void Close() { socket_.Reset(); }
  // Until the other side closes.
  void WaitForClose() {
    while (Read().has_value()) {
    }
  }

 private:
  static void AddDescriptor(msghdr& message, char* control, size_t bytes, int descriptor) {
    message.msg_control = control;
    message.msg_controllen = bytes;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  bool ReadExactly(void* to, size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes != 0) {
      const ssize_t n = ::recv(socket_.get(), at, bytes, 0);
      if (n <= 0) return false;
      at += n;
      bytes -= static_cast<size_t>(n);
    }
    return true;
  }

  UniqueFd socket_;
};

inline std::pair<UniqueFd, UniqueFd> SocketPair() {
  int fds[2];
  DUNLIN_CHECK_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Plays `script` as the server of one connection, in a thread that is joined at the end.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::function<void(LanePeer&)> script) {
    auto [client, server] = SocketPair();
    client_ = std::move(client);
    thread_ = std::thread([peer = LanePeer(std::move(server)),
                           script = std::move(script)]() mutable { script(peer); });
  }
  ~ScriptedServer() {
    client_.Reset();
    thread_.join();
  }
  UniqueFd TakeClient() { return std::move(client_); }

 private:
  UniqueFd client_;
  std::thread thread_;
};

}  // namespace dunlin
