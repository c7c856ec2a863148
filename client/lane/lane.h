#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/base/unique_fd.h"
#include "common/fabric/frame_port.h"
#include "common/fabric/remote.h"
#include "common/layout/lane.h"
#include "common/layout/size_class.h"
#include "proto/control.pb.h"

namespace dunlin {

// The connection of one session to its server, or one without a session for Ping and Status. Speaks
// the frames of layout/lane.h. One request at a time; not thread safe; has no
// threads of its own.
//
// An error breaks the lane for good, unless the call says otherwise or the server itself refused a
// control request: what was in flight can no longer be told apart from what comes next. Then
// broken() says why and each call answers with that. Codes: Unavailable (the server closed the
// connection), DeadlineExceeded (a reply that comes later would be taken for another's),
// FailedPrecondition (what came is not the protocol).
//
// In a child process after fork() destroy it at most; the connection is the parent's.
class Lane {
 public:
  // One message of ReturnBlocks holds at most so many.
  static constexpr size_t kMaxReturnedBlocks = 16'384;
  // What may wait here for a slow server to take it.
  static constexpr size_t kMaxUnsentBytes = 1u << 20;
  static constexpr std::chrono::milliseconds kReturnPatience{1000};

  // Errors: InvalidArgument (path too long), Unavailable (nobody listens), PermissionDenied,
  // DeadlineExceeded.
  static absl::StatusOr<std::unique_ptr<Lane>> Connect(const std::string& path, Deadline deadline);
  // On a connected stream socket.
  explicit Lane(UniqueFd socket);
  // On a connection of any kind; `port` speaks for it.
  explicit Lane(std::unique_ptr<FramePort> port) : port_(std::move(port)) {}

  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  struct Welcome {
    uint32_t session_id = 0;    // 1..BucketHeader::kMaxOwner
    uint32_t session_word = 0;  // index; to be compared with the superblock's session_words
    uint64_t incarnation = 0;
    uint64_t region_bytes = 0;
    std::string server_release;
    uint32_t server_pid = 0;
    bool huge_pages = false;
    UniqueFd region;  // on shared memory
    uint64_t token = 0;
    bool nic_atomics = false;
    bool follows = false;
    std::vector<MemoryKey> keys;
  };
  struct HelloOptions {
    std::string_view name;
    bool read_only = false;
    uint32_t replaces = 0;  // an earlier session of this client, to be fenced
    uint64_t replaces_token = 0;
    uint64_t replaces_incarnation = 0;
  };
  // Opens the session; the first request of its lane. A refusal by the server (another layout
  // version, no room, draining) comes with the server's code and message.
  absl::StatusOr<Welcome> Hello(const HelloOptions& options, Deadline deadline);

  struct Blocks {
    BlocksOutcome outcome = BlocksOutcome::kRefused;  // unless kOk there are no words
    uint64_t batch = 0;
    uint64_t first_version = 0;  // versions [first_version, first_version + version_count) are ours
    uint64_t version_count = 0;
    std::vector<uint64_t> words;  // each of the class asked for, at most `want`
  };
  // `run_bytes` is 0 unless size_class is kRunClass. REQUIRES: a request that WhyNotValid accepts.
  absl::StatusOr<Blocks> RequestBlocks(SizeClass size_class, uint32_t want, uint64_t run_bytes,
                                       uint64_t resolved_batch, Deadline deadline);

  // Has no reply. Usually returns at once; if the server is slow the message waits here, and once
  // kMaxUnsentBytes wait, the call does, until the deadline. DeadlineExceeded does not break the
  // lane: nothing of this message was taken, and the blocks are still the caller's to return.
  // REQUIRES: blocks.size() <= kMaxReturnedBlocks.
  absl::Status ReturnBlocks(std::span<const ReturnedBlock> blocks, uint64_t resolved_batch,
                            Deadline deadline = Deadline::After(kReturnPatience));

  // Has the server judge whether the record of `word` in the slot is expired and empty the slot if
  // so: for sessions that can't write. After OK look again.
  absl::Status Expire(uint64_t slot_address, uint64_t word, Deadline deadline);

  // Has the server look after the lock in the bucket at `address`, which was found to be `word` and
  // is waited for. After OK look again.
  absl::Status ExamineLock(uint64_t address, uint64_t word, Deadline deadline);
  // An insert found no slot in the subtable of `position`, at `depth` bits. kGrows: refresh the
  // directory and look again.
  absl::StatusOr<GrowOutcome> Grow(uint32_t position, uint32_t depth, Deadline deadline);

  absl::StatusOr<control::PingReply> Ping(Deadline deadline);
  struct StatusOptions {
    bool count_index = false;  // exact counts: walks the index
    bool sweep = false;        // first a whole mark and sweep: takes more than a grace period
  };
  absl::StatusOr<control::StatusReply> Status(const StatusOptions& options, Deadline deadline);

  // About the snapshots in the server's directory. The server answers when it is done; a lane that
  // the deadline broke may have had it done all the same.
  absl::StatusOr<control::SnapshotReply> Snapshot(const control::SnapshotRequest& request,
                                                  Deadline deadline);

  // Ends the session in good order: what was returned before has been taken when this returns OK.
  // The lane is of no use afterwards.
  absl::Status Goodbye(Deadline deadline);

  // Whether the server has closed the connection, as it does when it dies; also true if the lane is
  // broken for another reason. Doesn't wait; one system call.
  bool HungUp() { return !port_->CheckQuiet().ok(); }

  // Sends what waits, as far as the socket takes it now.
  absl::Status Flush() { return port_->SendNow(); }

  const absl::Status& broken() const { return port_->broken(); }

  // Messages sent so far.
  uint64_t messages() const { return port_->frames_sent(); }

 private:
  // Sends what is queued and receives one frame, which must be of kind `expected`.
  absl::StatusOr<std::span<const std::byte>> Exchange(LaneKind expected, Deadline deadline,
                                                      UniqueFd* descriptor = nullptr);
  // Sends one fixed message and receives its answer. REQUIRES: WhyNotValid accepts the message.
  template <typename Message>
  absl::StatusOr<std::span<const std::byte>> Ask(LaneKind kind, const Message& message,
                                                 LaneKind answer, Deadline deadline);
  // The same, where the answer has no body; `what` names it.
  template <typename Message>
  absl::Status AskToAct(LaneKind kind, const Message& message, LaneKind answer, const char* what,
                        Deadline deadline);
  absl::StatusOr<control::ControlReply> Control(const control::ControlRequest& request,
                                                control::ControlReply::ReplyCase expected,
                                                Deadline deadline, UniqueFd* descriptor = nullptr);
  absl::Status BreakByProtocol(std::string_view what);

  const std::unique_ptr<FramePort> port_;
};

}  // namespace dunlin
