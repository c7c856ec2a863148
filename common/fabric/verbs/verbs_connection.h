#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/remote.h"
#include "common/fabric/verbs/chain_queue.h"
#include "common/fabric/verbs/cm_events.h"
#include "common/fabric/verbs/frame_assembler.h"
#include "common/fabric/verbs/out_stream.h"
#include "common/fabric/verbs/queue_pair.h"
#include "common/fabric/verbs/verbs_device.h"
#include "common/fabric/verbs/verbs_link.h"
#include "common/fabric/verbs/verbs_options.h"

namespace dunlin {

// What a connection is made of, in the order of construction.
struct VerbsParts {
  CmEvents events;
  CmId id;
  DeviceLimits device;
  ProtectionDomain pd;
  CompletionChannel channel;
  RegisteredBuffer staging;
  RegisteredBuffer receive;
  QueuePair pair;
};

// The client's end of a session's connection over verbs (verbs_dial.h makes them).
//
// Failure: an error of the queue pair, a disconnect, the removal of the device, or Break destroys
// the queue pair at once; only then are chains handed back, so that nothing is under way any more
// when their outcome becomes known. What had completed before counts as done.
class VerbsConnection final : public RemoteConnection, private VerbsLink::Owner {
 public:
  VerbsConnection(VerbsParts parts, const VerbsOptions& options, std::string peer);
  ~VerbsConnection() override;
  VerbsConnection(const VerbsConnection&) = delete;
  VerbsConnection& operator=(const VerbsConnection&) = delete;

  // For whoever makes the connection: the first ends before the other side can send anything.
  absl::Status PostReceives() { return link_.PostReceives(); }
  void SetPeer(uint32_t receive_depth, uint32_t message_bytes) {
    link_.SetPeer(receive_depth, message_bytes);
  }
  rdma_cm_id* id() const { return parts_.id.get(); }
  CmEvents& events() { return parts_.events; }
  const DeviceLimits& device() const { return parts_.device; }

  // FramePort.
  void Queue(LaneKind kind, std::span<const std::byte> fixed,
             std::span<const std::byte> array) override;
  size_t unsent() const override { return stream_.unsent(); }
  absl::Status SendNow() override;
  absl::Status SendUntil(size_t leave_unsent, Deadline deadline) override;
  absl::StatusOr<Frame> Receive(Deadline deadline, UniqueFd* descriptor) override;
  absl::Status CheckQuiet() override;
  absl::Status Break(absl::Status why) override;
  const absl::Status& broken() const override { return broken_; }
  uint64_t frames_sent() const override { return frames_sent_; }

  std::unique_ptr<Channel> OpenChannel(RegionAccess access) override;

  // For the channel. Takes completions, hands frames and chains on, posts what waited.
  void Progress() {
    if (link_.Progress() != 0 || !link_.broken().ok()) {
      AfterCompletions();
    } else if (++idle_polls_ % kPollsPerLookAtEvents == 0) {
      LookAtEvents();
    }
  }
  // Blocks until there may be something for Progress, at most `nanos`.
  void Wait(int64_t nanos);
  ChainQueue* chains() { return chains_.get(); }
  // After a post: sees to it that a failure has its consequences.
  void AfterPost() {
    if (!link_.broken().ok() && broken_.ok()) BreakFromLink();
  }

 private:
  // A look costs a system call.
  static constexpr uint32_t kPollsPerLookAtEvents = 1u << 14;
  // Where nobody else can run while we look, each look lets others run first.
  static constexpr uint32_t kPollsWhereAlone = 1;
  // Nobody asks for more than one at a time; a server that sends more is not ours.
  static constexpr size_t kMostFrames = 4;

  void OnSegmentDone(uint32_t tag, const Segment& segment, const std::byte* staging) override;
  void AfterCompletions();
  void TakeMessages();
  std::string TakeFrame(LaneKind kind, std::span<const std::byte> body);
  // Asks the connection manager whether the connection still stands.
  void LookAtEvents();
  absl::Status StatusOfEvent(const CmEvent& event) const;
  void BreakFrom(absl::Status why);
  void BreakFromLink();
  bool SpinUntilSomething();
  void BlockUntilSomething(int64_t nanos);
  void TakeCompletionEvents();

  struct Received {
    LaneKind kind;
    std::vector<std::byte> body;
  };

  const pid_t owner_;  // a child process must not destroy what is its parent's
  VerbsParts parts_;
  const VerbsOptions options_;
  const bool alone_;  // on the one processor that this process may use
  VerbsLink link_;
  OutStream stream_;
  std::unique_ptr<ChainQueue> chains_;
  FrameAssembler assembler_;
  std::deque<Received> frames_;
  std::vector<std::byte> handed_out_;
  absl::Status broken_;
  uint64_t frames_sent_ = 0;
  uint32_t idle_polls_ = 0;
  bool armed_ = false;  // the completion queue was asked for an event that hasn't been taken
};

}  // namespace dunlin
