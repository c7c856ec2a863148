#include "common/fabric/chain_frames.h"

#include <algorithm>
#include <cstring>

#include "common/base/prefetch.h"
#include "common/fabric/follow.h"
#include "common/fabric/on_mapping.h"
#include "common/layout/bucket.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

// In front of the WRITEs' bytes there is at most this,
constexpr size_t kMostHead =
    sizeof(ChainRequest) + kMaxWorks * sizeof(ChainWork) + sizeof(ChainFollow);
// and this of a wish to swing.
constexpr size_t kMostSwing = sizeof(ChainSwing) + kMostSwingKeyBytes;

uint32_t BytesReadBy(const Work& work) { return work.verb == Verb::kWrite ? 0 : work.length; }

// One body under way. The works are kept apart until it is closed, as their number comes first.
class RequestBody {
 public:
  RequestBody(const Follow& follow, std::vector<std::byte>& buffer, const EmitBody& emit)
      : follow_(follow), most_head_(kMostHead + SwingBytes(follow)), buffer_(buffer), emit_(emit) {
    Clear();
  }

  // How many bytes of a WRITE still go in with one more work; 0: close it first.
  uint32_t Room() const {
    if (count_ == kMaxWorks) return 0;
    return kMaxChainBody - static_cast<uint32_t>(buffer_.size());
  }
  void Add(const Work& work, uint64_t remote, uint32_t length) {
    const bool compares = work.verb == Verb::kCompareSwap;
    const bool swaps = compares || work.verb == Verb::kFetchAdd;
    works_[count_++] = {remote, static_cast<uint32_t>(work.verb), length,
                        compares ? work.compare : 0, swaps ? work.swap : 0};
  }
  void AddBytes(const std::byte* from, uint32_t bytes) {
    buffer_.insert(buffer_.end(), from, from + bytes);
  }
  void Continue() { Close(kChainContinues); }
  void End() { Close(!follow_.wanted ? 0 : follow_.swing.wanted ? kChainSwings : kChainFollows); }

 private:
  static size_t SwingBytes(const Follow& follow) {
    const bool swings = follow.wanted && follow.swing.wanted;
    return swings ? sizeof(ChainSwing) + follow.swing.key_bytes : 0;
  }

  void Put(size_t& at, const void* from, size_t bytes) {
    std::memcpy(buffer_.data() + at, from, bytes);
    at += bytes;
  }

  void PutWish(size_t& at, uint32_t flags) {
    const ChainFollow follow{follow_.heap_start,  follow_.heap_bytes, follow_.fingerprint,
                             follow_.whole_bytes, follow_.head_bytes, 0};
    Put(at, &follow, sizeof follow);
    if (flags != kChainSwings) return;
    const Swing& wish = follow_.swing;
    const ChainSwing swing{wish.word, wish.key_bytes, wish.replaces ? 1u : 0u};
    Put(at, &swing, sizeof swing);
    Put(at, wish.key, wish.key_bytes);
  }

  void Close(uint32_t flags) {
    const ChainRequest request{count_, flags};
    size_t head = 0;
    Put(head, &request, sizeof request);
    Put(head, works_, count_ * sizeof works_[0]);
    if ((flags & kChainFollows) != 0) PutWish(head, flags);
    // The bytes follow what there is in front of them, not what there could have been.
    const size_t gap = most_head_ - head;
    if (gap != 0) {
      std::memmove(buffer_.data() + head, buffer_.data() + most_head_, buffer_.size() - most_head_);
    }
    emit_({buffer_.data(), buffer_.size() - gap});
    Clear();
  }

  void Clear() {
    count_ = 0;
    buffer_.resize(most_head_);
  }

  const Follow& follow_;
  const size_t most_head_;
  std::vector<std::byte>& buffer_;
  const EmitBody& emit_;
  uint32_t count_ = 0;
  ChainWork works_[kMaxWorks];
};

// In as many pieces as it takes, cut between words, so that each word is written whole.
void AddWrite(const Chain& chain, const Work& work, RequestBody& body) {
  const uint32_t total = work.length + work.tail_length;
  // One without bytes may be all there is, and a request has at least one work.
  if (total == 0) {
    if (body.Room() == 0) body.Continue();
    body.Add(work, work.remote, 0);
  }
  for (uint32_t done = 0; done < total;) {
    uint32_t piece = std::min(total - done, body.Room());
    if (piece != total - done) {
      const uint64_t beyond = (work.remote + done + piece) % kWordBytes;
      piece = piece <= beyond ? 0 : piece - static_cast<uint32_t>(beyond);
    }
    if (piece == 0) {
      body.Continue();
      continue;
    }
    body.Add(work, work.remote + done, piece);
    const uint32_t of_head = done < work.length ? std::min(piece, work.length - done) : 0;
    if (of_head != 0) body.AddBytes(chain.scratch + work.local + done, of_head);
    if (of_head != piece)
      body.AddBytes(work.tail + (done + of_head - work.length), piece - of_head);
    done += piece;
  }
}

}  // namespace

uint32_t FirstAtomic(const Chain& chain) {
  if (chain.atomics == 0) return chain.count;
  uint32_t i = 0;
  while (chain.work[i].verb != Verb::kCompareSwap && chain.work[i].verb != Verb::kFetchAdd) ++i;
  return i;
}

uint64_t ChainReplyBytes(const Chain& chain, uint32_t first) {
  uint64_t bytes = sizeof(ChainReply);
  for (uint32_t i = first; i < chain.count; ++i) bytes += BytesReadBy(chain.work[i]);
  return bytes;
}

bool ChainFitsFrames(const Chain& chain, uint32_t first) {
  if (ChainReplyBytes(chain, first) > kMaxChainBody) return false;
  uint64_t written = 0;
  bool read_before_write = false;
  bool read = false;
  for (uint32_t i = first; i < chain.count; ++i) {
    const Work& work = chain.work[i];
    read |= work.verb != Verb::kWrite;
    if (work.verb != Verb::kWrite) continue;
    read_before_write |= read;
    written += uint64_t{work.length} + work.tail_length;
  }
  return !read_before_write || written <= kMaxChainBody - kMostHead - kMostSwing;
}

void ComposeChainRequests(const Chain& chain, uint32_t first, std::vector<std::byte>& buffer,
                          const EmitBody& emit) {
  RequestBody body(chain.follow, buffer, emit);
  for (uint32_t i = first; i < chain.count; ++i) {
    const Work& work = chain.work[i];
    if (work.verb == Verb::kWrite) {
      AddWrite(chain, work, body);
      continue;
    }
    if (body.Room() == 0) body.Continue();
    body.Add(work, work.remote, work.length);
  }
  body.End();
}

namespace {

std::string WhyNotReply(uint64_t expected, std::span<const std::byte> body) {
  if (body.size() != expected) {
    return "chain reply: expected " + std::to_string(expected) + " bytes, found " +
           std::to_string(body.size());
  }
  return "";
}

// Returns what is behind.
const std::byte* ApplyWorks(Chain& chain, uint32_t first, const std::byte* from) {
  for (uint32_t i = first; i < chain.count; ++i) {
    Work& work = chain.work[i];
    if (work.verb == Verb::kRead) {
      std::byte* to = work.sink != nullptr ? work.sink : chain.scratch + work.local;
      if (work.length != 0) std::memcpy(to, from, work.length);
      work.data = to;
    } else if (IsWordVerb(work.verb)) {
      work.result = PlainWord(from);
    }
    from += BytesReadBy(work);
  }
  return from;
}

// The same for what was done along.
std::string ApplyFollowed(Chain& chain, const std::byte* from, uint64_t expected,
                          std::span<const std::byte> body) {
  const uint32_t asked = chain.count;
  AppendFollowed(chain);
  for (uint32_t i = asked; i < chain.count; ++i) expected += chain.work[i].length;
  if (body.size() < expected) return WhyNotReply(expected, body);
  from = ApplyWorks(chain, asked, from);
  const uint32_t read = chain.count;
  expected += uint64_t{AppendSwing(chain)} * kWordBytes;
  if (std::string why = WhyNotReply(expected, body); !why.empty()) return why;
  ApplyWorks(chain, read, from);
  return "";
}

}  // namespace

std::string ApplyChainReply(Chain& chain, uint32_t first, std::span<const std::byte> body) {
  uint64_t expected = ChainReplyBytes(chain, first);
  if (!chain.follow.wanted || body.size() < expected) {
    if (std::string why = WhyNotReply(expected, body); !why.empty()) return why;
  }
  ChainReply reply;
  std::memcpy(&reply, body.data(), sizeof reply);
  if (reply.outcome != 0 || reply.reserved != 0) {
    return "chain reply: outcome " + std::to_string(reply.outcome);
  }
  const std::byte* const behind = ApplyWorks(chain, first, body.data() + sizeof reply);
  if (!chain.follow.wanted) return "";
  // What was done along is not believed before it is known to be all there.
  std::string why = ApplyFollowed(chain, behind, expected, body);
  if (!why.empty()) {
    chain.count = chain.asked();
    chain.followed = 0;
    chain.swung = 0;
  }
  return why;
}

namespace {

uint64_t WishBytes(uint32_t flags) {
  if ((flags & kChainFollows) == 0) return 0;
  return sizeof(ChainFollow) + (flags == kChainSwings ? sizeof(ChainSwing) : 0);
}

// The wish stands at the beginning of `from`, as its flags say. Returns how long its key is, which
// may lie outside.
uint32_t TakeWish(std::span<const std::byte> from, uint32_t flags, Follow& follow) {
  ChainFollow wire;
  std::memcpy(&wire, from.data(), sizeof wire);
  follow.wanted = true;
  follow.heap_start = wire.heap_start;
  follow.heap_bytes = wire.heap_bytes;
  follow.fingerprint = wire.fingerprint;
  follow.whole_bytes = wire.whole_bytes;
  follow.head_bytes = wire.head_bytes;
  if (flags != kChainSwings) return 0;
  ChainSwing swing;
  std::memcpy(&swing, from.data() + sizeof wire, sizeof swing);
  follow.swing = {true, swing.replaces == 1, swing.key_bytes,
                  from.data() + sizeof wire + sizeof swing, swing.word};
  return swing.key_bytes;
}

// Of a wish that was taken.
std::string WhyNotWish(std::span<const std::byte> from, uint64_t region_bytes,
                       const ReceivedChain& received) {
  ChainFollow wire;
  std::memcpy(&wire, from.data(), sizeof wire);
  ChainSwing swing{};
  const Follow& follow = received.chain.follow;
  if (follow.swing.wanted) std::memcpy(&swing, from.data() + sizeof wire, sizeof swing);
  const uint64_t most = MostFollowedBytes(follow) + kMostSwung * kWordBytes;
  if (wire.reserved != 0 || swing.replaces > 1 || !MayFollow(received.chain, region_bytes) ||
      received.reply_bytes + most > kMaxChainBody) {
    return "chain: what it wants to be done along is not possible, outside the region or too much";
  }
  return "";
}

}  // namespace

std::string ParseChainRequest(std::span<const std::byte> body, uint64_t region_bytes,
                              bool read_only, ReceivedChain* received) {
  ChainRequest request{};
  if (body.size() < sizeof request) return "chain: cut short";
  std::memcpy(&request, body.data(), sizeof request);
  const bool known = request.flags == 0 || request.flags == kChainContinues ||
                     request.flags == kChainFollows || request.flags == kChainSwings;
  if (request.count == 0 || request.count > kMaxWorks || !known) {
    return "chain: " + std::to_string(request.count) + " verbs, flags " +
           std::to_string(request.flags);
  }
  const uint64_t works_end = sizeof request + request.count * sizeof(ChainWork);
  const uint64_t wish_bytes = WishBytes(request.flags);
  uint64_t at = works_end + wish_bytes;
  if (body.size() < at) return "chain: cut short";
  Chain& chain = received->chain;
  chain.Clear();
  if (wish_bytes != 0) at += TakeWish(body.subspan(works_end), request.flags, chain.follow);
  chain.scratch = const_cast<std::byte*>(body.data());
  received->continues = request.flags == kChainContinues;
  received->reply_bytes = sizeof(ChainReply);
  for (uint32_t i = 0; i < request.count; ++i) {
    ChainWork wire;
    std::memcpy(&wire, body.data() + sizeof request + i * sizeof wire, sizeof wire);
    if (wire.verb > static_cast<uint32_t>(Verb::kFetchAdd)) {
      return "chain: no verb " + std::to_string(wire.verb);
    }
    const Verb verb = static_cast<Verb>(wire.verb);
    if (IsWordVerb(verb) && wire.length != kWordBytes) {
      return "chain: a word of " + std::to_string(wire.length) + " bytes";
    }
    Work& work = chain.Add(verb, wire.remote);
    work.length = wire.length;
    work.by_reference = false;
    work.sink = nullptr;
    work.compare = wire.compare;
    work.swap = wire.swap;
    received->reply_bytes += BytesReadBy(work);
    if (verb != Verb::kWrite) {
      chain.atomics += verb == Verb::kCompareSwap || verb == Verb::kFetchAdd;
      continue;
    }
    ++chain.writes;
    work.local = static_cast<uint32_t>(at);
    at += wire.length;
  }
  if (at != body.size()) {
    return "chain: expected " + std::to_string(at) + " bytes, found " + std::to_string(body.size());
  }
  if (received->reply_bytes > kMaxChainBody) {
    return "chain: reads " + std::to_string(received->reply_bytes) + " bytes, at most " +
           std::to_string(kMaxChainBody);
  }
  if (received->continues && received->reply_bytes != sizeof(ChainReply)) {
    return "chain: only WRITEs can be continued";
  }
  if (!ChainAllowed(chain, region_bytes, read_only)) {
    return "chain: outside the region, not aligned, or changes what it may only read";
  }
  return wish_bytes != 0 ? WhyNotWish(body.subspan(works_end), region_bytes, *received) : "";
}

void PrefetchChainRequest(std::span<const std::byte> body, const std::byte* region,
                          uint64_t region_bytes) {
  constexpr uint32_t kMostBytes = kBucketBytes;
  ChainRequest request{};
  if (body.size() < sizeof request) return;
  std::memcpy(&request, body.data(), sizeof request);
  const uint64_t works = (body.size() - sizeof request) / sizeof(ChainWork);
  for (uint32_t i = 0; i < std::min<uint64_t>({request.count, works, kMaxWorks}); ++i) {
    ChainWork work;
    std::memcpy(&work, body.data() + sizeof request + i * sizeof work, sizeof work);
    const uint32_t bytes = std::min(work.length, kMostBytes);
    if (bytes == 0 || bytes > region_bytes || work.remote > region_bytes - bytes) continue;
    PrefetchBytes(region + work.remote, bytes);
  }
}

void PlaceChainReply(ReceivedChain& received, std::span<std::byte> reply) {
  uint64_t at = sizeof(ChainReply);
  for (uint32_t i = 0; i < received.chain.count; ++i) {
    Work& work = received.chain.work[i];
    if (work.verb == Verb::kRead) work.sink = reply.data() + at;
    at += BytesReadBy(work);
  }
}

void FinishChainReply(const ReceivedChain& received, std::span<std::byte> reply) {
  const ChainReply head{0, 0};
  std::memcpy(reply.data(), &head, sizeof head);
  uint64_t at = sizeof head;
  for (uint32_t i = 0; i < received.chain.count; ++i) {
    const Work& work = received.chain.work[i];
    if (IsWordVerb(work.verb)) SetPlainWord(reply.data() + at, work.result);
    at += BytesReadBy(work);
  }
}

namespace {

// The copies of the last READs that were asked for, and behind them those that were done along.
void FindCopies(ReceivedChain& received, std::span<std::byte> reply) {
  Chain& chain = received.chain;
  uint64_t at = received.reply_bytes;
  for (uint32_t i = chain.count; i-- > chain.asked() - 2;) {
    at -= chain.work[i].length;
    chain.work[i].sink = reply.data() + at;
    chain.work[i].data = reply.data() + at;
  }
}

// A chain of what stands from `first` on.
Chain TailOf(const Chain& chain, uint32_t first) {
  Chain tail;
  for (uint32_t i = first; i < chain.count; ++i) {
    tail.work[tail.count++] = chain.work[i];
  }
  return tail;
}

}  // namespace

void CarryOutWish(ReceivedChain& received, CarryOut carry_out, LengthenReply lengthen) {
  Chain& chain = received.chain;
  if (AppendFollowed(chain) != 0) {
    for (uint32_t i = chain.asked(); i < chain.count; ++i) {
      received.reply_bytes += chain.work[i].length;
    }
    FindCopies(received, lengthen(received.reply_bytes));
    Chain reads = TailOf(chain, chain.asked());
    carry_out(reads);
  }
  if (AppendSwing(chain) == 0) return;
  Chain swing = TailOf(chain, chain.count - chain.swung);
  carry_out(swing);
  uint64_t at = received.reply_bytes;
  received.reply_bytes += uint64_t{swing.count} * kWordBytes;
  const std::span<std::byte> reply = lengthen(received.reply_bytes);
  for (uint32_t i = 0; i < swing.count; ++i, at += kWordBytes) {
    SetPlainWord(reply.data() + at, swing.work[i].result);
  }
}

}  // namespace dunlin
