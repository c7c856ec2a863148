#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/fabric/frame_stream.h"
#include "common/fabric/remote.h"

namespace dunlin {

// A session's connection over TCP: lane frames and chains on one stream. The server executes whole
// chains; what is read is copied. A write too large for one frame goes in several.
class TcpConnection final : public RemoteConnection {
 public:
  // `socket` is connected and doesn't block.
  explicit TcpConnection(UniqueFd socket) : stream_(std::move(socket)) {}

  std::unique_ptr<Channel> OpenChannel(RegionAccess access) override;

  void Queue(LaneKind kind, std::span<const std::byte> fixed,
             std::span<const std::byte> array) override {
    stream_.Queue(kind, fixed, array);
  }
  size_t unsent() const override { return stream_.unsent(); }
  absl::Status SendNow() override { return stream_.SendNow(); }
  absl::Status SendUntil(size_t leave_unsent, Deadline deadline) override {
    return stream_.SendUntil(leave_unsent, deadline);
  }
  absl::StatusOr<Frame> Receive(Deadline deadline, UniqueFd* descriptor) override {
    return stream_.Receive(deadline, descriptor);
  }
  absl::Status CheckQuiet() override { return stream_.CheckQuiet(); }
  absl::Status Break(absl::Status why) override { return stream_.Break(std::move(why)); }
  const absl::Status& broken() const override { return stream_.broken(); }
  uint64_t frames_sent() const override { return stream_.frames_sent(); }

 private:
  FrameStream stream_;
};

// The chains of a TcpConnection.
class TcpChannel final : public Channel {
 public:
  static constexpr uint32_t kDepth = 64;

  // Refers to `stream`.
  TcpChannel(FrameStream& stream, RegionAccess access);
  ~TcpChannel() override;

  void Post(Chain* chain) override;
  uint32_t Poll(Chain** finished, uint32_t max) override;
  void WaitFor(int64_t nanos) override;
  uint32_t depth() const override { return kDepth; }
  const absl::Status& broken() const override { return stream_.broken(); }
  void Break(absl::Status why) override { stream_.Break(std::move(why)).IgnoreError(); }

 private:
  absl::Status TakeReply(std::span<const std::byte> body);
  bool Sendable(const Chain& chain) const;

  FrameStream& stream_;
  const RegionAccess access_;
  std::vector<std::byte> buffer_;
  // In the order of their posting, from handed_back_ to posted_; those before answered_ are
  // finished. One that was refused is finished too, and is never asked for.
  std::array<Chain*, kDepth> chains_{};
  uint32_t handed_back_ = 0;
  uint32_t answered_ = 0;
  uint32_t sent_ = 0;  // those before it were sent by Poll; the lane may have sent more
  uint32_t posted_ = 0;
};

}  // namespace dunlin
