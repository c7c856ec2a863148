#include "common/fabric/verbs/chain_queue.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/fabric/chain_frames.h"
#include "common/fabric/on_mapping.h"

namespace dunlin {
namespace {

// Room for what a cut at a key's border or a confirmation adds.
constexpr uint32_t kSpareStaging = 32;

}  // namespace

ChainQueue::ChainQueue(VerbsLink* link, OutStream* stream, RegionAccess access,
                       const Limits& limits)
    : link_(link),
      stream_(stream),
      region_bytes_(access.region_bytes),
      read_only_(access.read_only),
      posts_atomics_(access.domain == AtomicDomain::kNic),
      keys_(std::move(access.keys)),
      limits_(limits),
      states_(limits.depth) {
  for (uint32_t i = limits.depth; i-- > 0;) free_.push_back(i);
}

bool ChainQueue::Allowed(const Chain& chain, uint32_t end) const {
  return link_->broken().ok() && ChainAllowed(chain, region_bytes_, read_only_) &&
         (end == chain.count || ChainFitsFrames(chain, end));
}

void ChainQueue::Post(Chain* chain) {
  DUNLIN_CHECK(!free_.empty(), "at most depth() chains may be in flight");
  DUNLIN_CHECK(chain->count >= 1 && chain->count <= kMaxWorks);
  chain->outcome = ChainOutcome::kPending;
  chain->follow.wanted = false;
  const uint32_t tag = free_.back();
  free_.pop_back();
  State& state = states_[tag];
  state = {};
  state.chain = chain;
  state.number = next_number_++;
  state.end = posts_atomics_ ? chain->count : FirstAtomic(*chain);
  state.replied = !state.has_tail();
  if (!Allowed(*chain, state.end)) return Finish(state, tag, ChainOutcome::kNotExecuted);
  waiting_.push_back(tag);
  PostWaiting();
}

void ChainQueue::PostWaiting() {
  stream_->Pump();
  while (!waiting_.empty() && link_->broken().ok()) {
    const uint32_t tag = waiting_.front();
    if (!PostAll(tag)) return;
    waiting_.pop_front();
    tail_composed_ = false;
    State& state = states_[tag];
    state.all_posted = true;
    FinishIfDone(state, tag);
  }
}

bool ChainQueue::PostAll(uint32_t tag) {
  State& state = states_[tag];
  if (state.has_tail() && !tail_composed_) ComposeTail(state);
  const bool tail_in_segment = state.has_tail() && TailFitsMessage();
  while (state.cursor.work < state.end || tail_in_segment) {
    if (StagingNeeded(*state.chain, state.cursor, state.end) == 0 && !tail_in_segment) break;
    const size_t replies = replies_.size();
    if (!PostSegment(tag)) return false;
    if (replies_.size() != replies) return true;
  }
  if (!state.has_tail()) return true;
  stream_->AppendFrames(tail_);
  state.taken = true;
  replies_.push_back(tag);
  stream_->Pump();
  return true;
}

// Posts one list of what is left of the chain; with the tail behind it if that is a single message
// and the rest fits. False: not now.
bool ChainQueue::PostSegment(uint32_t tag) {
  State& state = states_[tag];
  const uint64_t needed = StagingNeeded(*state.chain, state.cursor, state.end);
  const uint32_t bytes =
      static_cast<uint32_t>(std::min<uint64_t>(needed + kSpareStaging, limits_.segment_bytes));
  uint32_t message_bytes = 0;
  if (state.has_tail() && TailFitsMessage() && needed <= bytes) {
    if (stream_->unsent() != 0 || link_->ForBytes() == 0) return false;
    message_bytes = VerbsLink::StagingOfMessage(static_cast<uint32_t>(tail_.size()));
  }
  const VerbsLink::Draft draft =
      link_->Begin(bytes + kStagingAlignment + message_bytes, kMaxPieces);
  if (draft.segment == nullptr) return false;
  Segment& segment = *draft.segment;
  CutChain(*state.chain, state.end, keys_, {kMaxPieces - 1, bytes, limits_.max_message_bytes},
           state.cursor, segment);
  StageWrites(*state.chain, segment, draft.staging);
  const bool complete = state.cursor.work == state.end;
  if (complete && message_bytes != 0) {
    link_->AddMessage(draft, tail_);
    replies_.push_back(tag);
  } else if (complete && !state.has_tail() && limits_.reads_apart) {
    AddConfirmation(segment);
  }
  const uint32_t taken = link_->Post(draft, tag, state.chain);
  state.taken |= taken != 0;
  ++state.segments;
  return taken == segment.count;
}

void ChainQueue::ComposeTail(const State& state) {
  tail_.clear();
  ComposeChainRequests(*state.chain, state.end, compose_buffer_,
                       [this](std::span<const std::byte> body) {
                         AppendLaneFrame(LaneKind::kChainRequest, body, {}, tail_);
                       });
  tail_composed_ = true;
}

void ChainQueue::OnSegmentDone(uint32_t tag, const Segment& segment, const std::byte* staging) {
  State& state = states_[tag];
  TakeReads(*state.chain, segment, staging);
  --state.segments;
  FinishIfDone(state, tag);
}

std::string ChainQueue::OnReply(std::span<const std::byte> body) {
  if (replies_.empty()) return "a reply to no chain";
  const uint32_t tag = replies_.front();
  State& state = states_[tag];
  if (std::string why = ApplyChainReply(*state.chain, state.end, body); !why.empty()) return why;
  replies_.pop_front();
  state.replied = true;
  FinishIfDone(state, tag);
  return "";
}

void ChainQueue::FinishIfDone(State& state, uint32_t tag) {
  if (!state.all_posted || state.segments != 0 || !state.replied) return;
  for (uint32_t i = 0; i < state.end; ++i) {
    Work& work = state.chain->work[i];
    if (work.verb == Verb::kRead) work.data = ReadTarget(*state.chain, work);
  }
  Finish(state, tag, ChainOutcome::kDone);
}

void ChainQueue::Finish(State& state, uint32_t tag, ChainOutcome outcome) {
  state.chain->outcome = outcome;
  finished_.push_back(state.chain);
  state.chain = nullptr;
  free_.push_back(tag);
}

uint32_t ChainQueue::TakeFinished(Chain** finished, uint32_t max) {
  uint32_t n = 0;
  while (n < max && any_finished()) finished[n++] = finished_[finished_taken_++];
  if (!any_finished()) {
    finished_.clear();
    finished_taken_ = 0;
  }
  return n;
}

void ChainQueue::FailAll() {
  std::vector<uint32_t> tags;
  for (uint32_t i = 0; i < limits_.depth; ++i) {
    if (states_[i].chain != nullptr) tags.push_back(i);
  }
  std::sort(tags.begin(), tags.end(),
            [this](uint32_t a, uint32_t b) { return states_[a].number < states_[b].number; });
  for (const uint32_t tag : tags) {
    State& state = states_[tag];
    Finish(state, tag, state.taken ? ChainOutcome::kUnknown : ChainOutcome::kNotExecuted);
  }
  waiting_.clear();
  replies_.clear();
}

}  // namespace dunlin
