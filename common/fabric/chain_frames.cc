#include "common/fabric/chain_frames.h"

#include <algorithm>
#include <cstring>

#include "common/fabric/follow.h"
#include "common/fabric/on_mapping.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

// In front of the WRITEs' bytes there is at most this.
constexpr size_t kMostHead =
    sizeof(ChainRequest) + kMaxWorks * sizeof(ChainWork) + sizeof(ChainFollow);

uint32_t BytesReadBy(const Work& work) { return work.verb == Verb::kWrite ? 0 : work.length; }

// One body under way. The works are kept apart until it is closed, as their number comes first.
class RequestBody {
 public:
  RequestBody(std::vector<std::byte>& buffer, const EmitBody& emit) : buffer_(buffer), emit_(emit) {
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
  void Continue() { Close(kChainContinues, nullptr); }
  void End(const Follow& follow) {
    if (!follow.wanted) return Close(0, nullptr);
    const ChainFollow wire{follow.heap_start,  follow.heap_bytes, follow.fingerprint,
                           follow.whole_bytes, follow.head_bytes, 0};
    Close(kChainFollows, &wire);
  }

 private:
  void Close(uint32_t flags, const ChainFollow* follow) {
    const ChainRequest request{count_, flags};
    std::memcpy(buffer_.data(), &request, sizeof request);
    std::memcpy(buffer_.data() + sizeof request, works_, count_ * sizeof works_[0]);
    size_t head = sizeof request + count_ * sizeof works_[0];
    if (follow != nullptr) {
      std::memcpy(buffer_.data() + head, follow, sizeof *follow);
      head += sizeof *follow;
    }
    // The bytes follow the last work, not the last one there could have been.
    const size_t gap = kMostHead - head;
    if (gap != 0)
      std::memmove(buffer_.data() + head, buffer_.data() + kMostHead, buffer_.size() - kMostHead);
    emit_({buffer_.data(), buffer_.size() - gap});
    Clear();
  }

  void Clear() {
    count_ = 0;
    buffer_.resize(kMostHead);
  }

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
  return !read_before_write || written <= kMaxChainBody - kMostHead;
}

void ComposeChainRequests(const Chain& chain, uint32_t first, std::vector<std::byte>& buffer,
                          const EmitBody& emit) {
  RequestBody body(buffer, emit);
  for (uint32_t i = first; i < chain.count; ++i) {
    const Work& work = chain.work[i];
    if (work.verb == Verb::kWrite) {
      AddWrite(chain, work, body);
      continue;
    }
    if (body.Room() == 0) body.Continue();
    body.Add(work, work.remote, work.length);
  }
  body.End(chain.follow);
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
  const uint32_t asked = chain.count;
  AppendFollowed(chain);
  for (uint32_t i = asked; i < chain.count; ++i) expected += chain.work[i].length;
  if (std::string why = WhyNotReply(expected, body); !why.empty()) {
    chain.count = asked;
    chain.followed = 0;
    return why;
  }
  ApplyWorks(chain, asked, behind);
  return "";
}

namespace {

// REQUIRES: a ChainFollow stands at the beginning of `from`.
std::string TakeWish(std::span<const std::byte> from, uint64_t region_bytes,
                     ReceivedChain* received) {
  ChainFollow wire;
  std::memcpy(&wire, from.data(), sizeof wire);
  Follow& follow = received->chain.follow;
  follow.wanted = true;
  follow.heap_start = wire.heap_start;
  follow.heap_bytes = wire.heap_bytes;
  follow.fingerprint = wire.fingerprint;
  follow.whole_bytes = wire.whole_bytes;
  follow.head_bytes = wire.head_bytes;
  if (wire.reserved != 0 || !MayFollow(received->chain, region_bytes) ||
      received->reply_bytes + MostFollowedBytes(follow) > kMaxChainBody) {
    return "chain: what it wants to be read along lies outside the region or is too much";
  }
  return "";
}

}  // namespace

std::string ParseChainRequest(std::span<const std::byte> body, uint64_t region_bytes,
                              bool read_only, ReceivedChain* received) {
  ChainRequest request{};
  if (body.size() < sizeof request) return "chain: cut short";
  std::memcpy(&request, body.data(), sizeof request);
  if (request.count == 0 || request.count > kMaxWorks || request.flags > kChainFollows) {
    return "chain: " + std::to_string(request.count) + " verbs, flags " +
           std::to_string(request.flags);
  }
  const bool follows = request.flags == kChainFollows;
  const uint64_t works_end = sizeof request + request.count * sizeof(ChainWork);
  uint64_t at = works_end + (follows ? sizeof(ChainFollow) : 0);
  if (body.size() < at) return "chain: cut short";
  Chain& chain = received->chain;
  chain.Clear();
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
  return follows ? TakeWish(body.subspan(works_end), region_bytes, received) : "";
}

void PlaceChainReply(ReceivedChain& received, std::span<std::byte> reply) {
  uint64_t at = sizeof(ChainReply);
  for (uint32_t i = 0; i < received.chain.count; ++i) {
    Work& work = received.chain.work[i];
    if (work.verb == Verb::kRead) work.sink = reply.data() + at;
    at += BytesReadBy(work);
  }
}

Chain TakeFollowed(ReceivedChain& received) {
  const uint32_t asked = received.chain.count;
  const uint32_t more = AppendFollowed(received.chain);
  Chain followed;
  for (uint32_t i = 0; i < more; ++i) {
    const Work& read = received.chain.work[asked + i];
    followed.Read(read.remote, read.length, 0);
    received.reply_bytes += read.length;
  }
  received.chain.count = asked;
  received.chain.followed = 0;
  return followed;
}

void PlaceFollowed(const ReceivedChain& received, Chain& followed, std::span<std::byte> reply) {
  uint64_t at = received.reply_bytes;
  for (uint32_t i = followed.count; i-- > 0;) {
    at -= followed.work[i].length;
    followed.work[i].sink = reply.data() + at;
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

}  // namespace dunlin
