#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "common/fabric/remote.h"
#include "tests/simulator/link.h"
#include "tests/simulator/process.h"

namespace dunlin::simulator {

class SimulatedChannel;

// The client's end of a Link, as the shipping client knows connections.
class SimulatedConnection final : public RemoteConnection {
 public:
  SimulatedConnection(std::shared_ptr<Link> link, Process* process);
  ~SimulatedConnection() override;

  std::unique_ptr<Channel> OpenChannel(RegionAccess access) override;

  void Queue(LaneKind kind, std::span<const std::byte> fixed,
             std::span<const std::byte> array) override;
  size_t unsent() const override { return out_.size(); }
  absl::Status SendNow() override;
  absl::Status SendUntil(size_t leave_unsent, Deadline deadline) override;
  absl::StatusOr<Frame> Receive(Deadline deadline, UniqueFd* descriptor) override;
  absl::Status CheckQuiet() override;
  absl::Status Break(absl::Status why) override;
  const absl::Status& broken() const override { return broken_; }
  uint64_t frames_sent() const override { return frames_sent_; }

 private:
  friend class SimulatedChannel;
  // Takes what came of chains, and notes what broke.
  void Look();
  // Whether a frame that is no chain reply is complete: it is then in frame_.
  bool NextFrame(LaneKind* kind);

  const std::shared_ptr<Link> link_;
  Process& process_;
  SimulatedChannel* channel_ = nullptr;
  absl::Status broken_;
  std::string out_;
  std::string frame_;
  uint64_t frames_sent_ = 0;
};

class SimulatedChannel final : public Channel {
 public:
  SimulatedChannel(SimulatedConnection* connection, RegionAccess access);
  ~SimulatedChannel() override;

  void Post(Chain* chain) override;
  uint32_t Poll(Chain** finished, uint32_t max) override;
  void WaitFor(int64_t nanos) override;
  uint32_t depth() const override { return kDepth; }
  const absl::Status& broken() const override { return connection_.broken(); }
  void Break(absl::Status why) override { connection_.Break(std::move(why)).IgnoreError(); }

 private:
  friend class SimulatedConnection;
  static constexpr uint32_t kDepth = 64;

  void Finish(Chain* chain);
  void TakeReply(std::span<const std::byte> body);

  SimulatedConnection& connection_;
  const RegionAccess access_;
  std::deque<Chain*> finished_;
  uint32_t posted_ = 0;
};

}  // namespace dunlin::simulator
