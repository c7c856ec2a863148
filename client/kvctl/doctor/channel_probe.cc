#include "client/kvctl/doctor/channel_probe.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "client/connect/target.h"
#include "client/kvctl/doctor/repeat.h"
#include "client/session/session_blocks.h"
#include "common/base/status.h"
#include "common/fabric/chain.h"

namespace dunlin::kvctl {
namespace {

constexpr uint64_t kMostOperations = 2000, kMostTransfers = 64;
constexpr uint32_t kSmallBytes = 64;
constexpr uint64_t kLargeBytes = 1 << 20;
constexpr int64_t kLongestWait = 10'000'000;

// One verb at a time on a block that is this session's.
class BlockProbe {
 public:
  BlockProbe(Channel& channel, uint64_t address, Milliseconds timeout)
      : channel_(channel), address_(address), timeout_(timeout), buffer_(kLargeBytes) {}

  absl::Status Read(uint64_t bytes) {
    chain_.Clear();
    chain_.Read(address_, static_cast<uint32_t>(bytes), 0).sink = buffer_.data();
    return Run();
  }
  absl::Status Write(uint64_t bytes) {
    chain_.Clear();
    chain_.Write(address_, 0, 0, buffer_.data(), static_cast<uint32_t>(bytes));
    return Run();
  }
  // On the word behind those that are written.
  absl::Status CompareSwap() {
    chain_.Clear();
    chain_.CompareSwap(address_ + kLargeBytes, word_, word_ + 1);
    DUNLIN_RETURN_IF_ERROR(Run());
    word_ = chain_.Swapped(0) ? word_ + 1 : chain_.work[0].result;
    return absl::OkStatus();
  }

 private:
  absl::Status Run() {
    chain_.scratch = buffer_.data();
    const Deadline deadline = Deadline::After(timeout_);
    channel_.Post(&chain_);
    Chain* finished = nullptr;
    while (channel_.Poll(&finished, 1) == 0) {
      const int64_t left = deadline.NanosLeft();
      if (left == 0) channel_.Break(absl::DeadlineExceededError("a verb did not complete in time"));
      channel_.WaitFor(std::min(left, kLongestWait));
    }
    if (chain_.outcome == ChainOutcome::kDone) return absl::OkStatus();
    if (!channel_.broken().ok()) return channel_.broken();
    return absl::InternalError("the fabric refused a verb on the session's own block");
  }

  Channel& channel_;
  const uint64_t address_;
  const Milliseconds timeout_;
  std::vector<std::byte> buffer_;
  Chain chain_;
  uint64_t word_ = 0;
};

template <typename Operation>
absl::Status Time(const Clock& clock, std::optional<Latency>* result, Operation operation) {
  const auto times = std::make_unique<Histogram>();
  DUNLIN_RETURN_IF_ERROR(Repeat(clock, kMostOperations, times.get(), operation));
  *result = LatencyOf(*times);
  return absl::OkStatus();
}

template <typename Operation>
absl::Status Transfer(const Clock& clock, std::optional<Bandwidth>* result, Operation operation) {
  const auto times = std::make_unique<Histogram>();
  DUNLIN_RETURN_IF_ERROR(Repeat(clock, kMostTransfers, times.get(), operation));
  *result = BandwidthOf(*times, kLargeBytes);
  return absl::OkStatus();
}

absl::Status MeasureLarge(BlockProbe& probe, const Clock& clock, RawPathResult* result) {
  DUNLIN_RETURN_IF_ERROR(
      Transfer(clock, &result->write_bandwidth, [&] { return probe.Write(kLargeBytes); }));
  return Transfer(clock, &result->read_bandwidth, [&] { return probe.Read(kLargeBytes); });
}

absl::StatusOr<RawPathResult> MeasureBlock(BlockProbe probe, const Clock& clock) {
  RawPathResult result;
  DUNLIN_RETURN_IF_ERROR(Time(clock, &result.read, [&] { return probe.Read(kSmallBytes); }));
  DUNLIN_RETURN_IF_ERROR(Time(clock, &result.write, [&] { return probe.Write(kSmallBytes); }));
  DUNLIN_RETURN_IF_ERROR(Time(clock, &result.compare_swap, [&] { return probe.CompareSwap(); }));
  result.large = MeasureLarge(probe, clock, &result);
  return result;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Opener>> MakePathOpener(std::string_view target) {
  constexpr Milliseconds kSilence{1000};
  DUNLIN_ASSIGN_OR_RETURN(const std::vector<Target> targets, ParseTargets(target));
  DUNLIN_ASSIGN_OR_RETURN(std::shared_ptr<ForkGuard> guard, ForkGuard::Create());
  switch (targets.front().fabric) {
    case Target::Fabric::kShm:
      return MakeShmOpener(targets.front().path, std::move(guard));
    case Target::Fabric::kTcp:
      return MakeTcpOpener(targets.front().address, kSilence, std::move(guard));
    case Target::Fabric::kRdma:
      return MakeRdmaOpener(targets.front().address, std::move(guard));
  }
  return absl::UnimplementedError("not measured on this fabric");
}

absl::StatusOr<RawPathResult> ChannelProbe::Measure(std::string_view target, Milliseconds timeout,
                                                    const Clock& clock) {
  DUNLIN_ASSIGN_OR_RETURN(const std::shared_ptr<Opener> opener, make_opener_(target));
  Opener::Request request;
  request.name = "kvctl doctor (verbs)";
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<SessionParts> parts,
                          opener->OpenSession(request, Deadline::After(timeout)));
  SessionBlocks pool(parts->lane.get(), parts->constants.heap_bytes);
  const SessionBlocks::Taken taken =
      pool.Take(kLargeBytes + sizeof(uint64_t), Deadline::After(timeout));
  if (taken.result != Result::kOk) {
    return absl::ResourceExhaustedError("the server gave no block of 1 MiB to try verbs on");
  }
  const Geometry geometry = Geometry::Of(parts->constants);
  absl::StatusOr<RawPathResult> result = MeasureBlock(
      BlockProbe(*parts->channel, geometry.RecordAddress(taken.block.word), timeout), clock);
  pool.PutBack(taken.block, taken.batch);
  // A broken connection gives the block back by itself: the session ends.
  pool.ReturnAll(Deadline::After(timeout)).IgnoreError();
  parts->lane->Goodbye(Deadline::After(timeout)).IgnoreError();
  return result;
}

}  // namespace dunlin::kvctl
