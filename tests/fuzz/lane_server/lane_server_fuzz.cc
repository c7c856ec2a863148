// What a hostile process can send to the server over its lane: the bytes of a stream, cut into
// pieces of any length, through the parser and the whole of the server's logic, up to its death and
// the recovery from it. The allocator must add up afterwards, and the index be untouched but by the
// chains that a remote peer may send.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "common/fabric/endpoint.h"
#include "server/core.h"
#include "server/lane_parser.h"
#include "server/lane_service.h"
#include "server/region_plan.h"
#include "server/region_view.h"

namespace dunlin {
namespace {

constexpr uint64_t kRegionBytes = uint64_t{4} << 20;

Superblock Plan() {
  ServerOptions options;
  options.memory = kRegionBytes;
  options.records = 100;
  options.max_sessions = 2;
  options.grace = 20'000'000;
  options.max_value_size = 100'000;
  auto plan = PlanRegion(options, {.incarnation = 1, .hash_seed = 2});
  DUNLIN_CHECK_OK(plan);
  return *plan;
}

// Of a peer over a network, as far as the server's logic asks it.
class RemotePeer final : public EndpointPeer {
 public:
  explicit RemotePeer(uint64_t region_bytes) : region_bytes_(region_bytes) {}

  Transfer Receive(std::span<std::byte>) override { return {}; }
  Transfer Send(std::span<const std::byte>) override { return {}; }
  void SetTag(uint64_t) override {}
  const std::string& name() const override { return name_; }
  RegionAccess Access(bool read_only) const override {
    RegionAccess access;
    access.region_bytes = region_bytes_;
    access.read_only = read_only;
    return access;
  }

 private:
  const uint64_t region_bytes_;
  const std::string name_ = "fuzz";
};

// The server's side of one connection.
class Lane {
 public:
  // `remote`: null on shared memory.
  Lane(std::byte* base, const Superblock& plan, const EndpointPeer* remote)
      : core_(base, plan, {}) {
    peer_.remote = remote;
    core_.SetState(ServerState::kServing);
  }

  // Whether the peer may have changed the region.
  bool sent_chains() const { return sent_chains_; }

  // False when the server would close the connection.
  bool Feed(std::span<const std::byte> bytes) {
    parser_.Append(bytes);
    LaneParser::Frame frame;
    for (;;) {
      LaneParser::State state = parser_.Peek(frame);
      if (state != LaneParser::State::kFrame) return state == LaneParser::State::kNeedsMore;
      LaneParser::Frame ahead;
      while (parser_.PeekAhead(2, ahead)) core_.PrefetchChain(ahead.body);
      sent_chains_ |= frame.kind == LaneKind::kChainRequest;
      LaneOutput output;
      LaneResult result = ApplyLaneMessage(core_, peer_, frame.kind, frame.body, output);
      if (result.verdict == LaneVerdict::kClose) {
        DUNLIN_CHECK(!result.why.empty());
        return false;
      }
      if (result.verdict == LaneVerdict::kLater) {
        DUNLIN_CHECK(output.bytes.empty());
        core_.Background();
        continue;
      }
      CheckFrames(output);
      parser_.Pop();
      core_.SetTick(core_.tick() + 3);
      core_.Background();
    }
  }

  void Die() {
    if (peer_.session != 0) {
      core_.LoseSession(peer_.session);
      core_.FenceSession(peer_.session);
    }
    for (int turn = 0; turn < 1000 && core_.Background(); ++turn) {
    }
    core_.SetTick(core_.tick() + 100);
    while (core_.Background()) {
    }
    const BlockPool& pool = core_.allocator().pool();
    DUNLIN_CHECK(pool.Audit().empty(), pool.Audit().c_str());
    DUNLIN_CHECK_EQ(pool.grace_bytes(), 0u);
    DUNLIN_CHECK(core_.sessions().all().empty());
  }

 private:
  static void CheckFrames(const LaneOutput& output) {
    size_t at = 0;
    while (at < output.bytes.size()) {
      LaneFrame frame;
      DUNLIN_CHECK_LE(at + sizeof frame, output.bytes.size());
      std::memcpy(&frame, output.bytes.data() + at, sizeof frame);
      DUNLIN_CHECK(WhyNotAFrame(frame).empty());
      at += sizeof frame + frame.bytes;
    }
    DUNLIN_CHECK_EQ(at, output.bytes.size());
  }

  ServerCore core_;
  LanePeer peer_{.pid = 1, .can_be_fenced = true};
  LaneParser parser_;
  bool sent_chains_ = false;
};

// No message but a chain changes the index: there is no expired record in it.
void CheckIndexUntouched(const std::byte* base, const Superblock& plan) {
  const std::byte* index = base + plan.index_offset;
  for (uint64_t word = 0; word < plan.index_bytes; word += kWordBytes) {
    uint64_t expected = word % kBucketBytes == 0 ? BucketHeader::Free(0, 0).raw() : 0;
    DUNLIN_CHECK_EQ(PlainWord(index + word), expected);
  }
}

void Run(std::span<const std::byte> input, bool remote) {
  static const Superblock plan = Plan();
  static std::byte* const base =
      static_cast<std::byte*>(std::aligned_alloc(kPageBytes, plan.region_bytes));
  static bool heap_clean = false;
  std::memset(base, 0, heap_clean ? plan.heap_offset : plan.region_bytes);
  heap_clean = true;
  FormatRegion(base, plan);
  const RemotePeer peer(plan.region_bytes);
  Lane lane(base, plan, remote ? &peer : nullptr);
  // The first byte says how the rest is cut.
  size_t piece = input.empty() ? 1 : 1 + std::to_integer<size_t>(input[0]) * 16;
  if (!input.empty()) input = input.subspan(1);
  while (!input.empty()) {
    size_t n = std::min(piece, input.size());
    if (!lane.Feed(input.first(n))) break;
    input = input.subspan(n);
  }
  lane.Die();
  heap_clean = !lane.sent_chains();
  if (!remote || !lane.sent_chains()) CheckIndexUntouched(base, plan);
}

}  // namespace
}  // namespace dunlin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const bool remote : {false, true}) dunlin::Run(std::as_bytes(std::span(data, size)), remote);
  return 0;
}
