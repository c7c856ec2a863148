#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "common/fabric/chain.h"

namespace dunlin {

// Contract of every fabric. A Channel is one session's one-sided path to one server's region. It
// belongs to one thread; it has no hidden threads and calls nobody back.
//
// Atomicity. An aligned 8-byte word is read whole by kReadWord and by a kRead that begins on a
// word's border, and written whole by a kWrite if it lies wholly in its scratch part or wholly in
// its tail; nothing longer is. kCompareSwap and kFetchAdd are atomic against each other on every
// channel of the region (one atomic domain), and only against each other: a word that is ever
// changed by one is never the target of a kWrite.
//
// Ordering within a chain. Verbs take effect in order, with one exception: a READ (kRead,
// kReadWord) *before* an atomic or a WRITE may be sampled after it. So a WRITE before an atomic is
// visible to whoever sees the atomic's effect, and a READ after an atomic is sampled after it. Two
// READs, and the words inside one READ or WRITE, are ordered by nothing. A READ by reference is
// sampled when its bytes are looked at, at any time after the post.
//
// Ordering between chains. A chain that is posted after the completion of another was polled takes
// effect after it. Two chains in flight at once are ordered by nothing.
//
// Following. A chain's wish (Follow in chain.h) is granted wholly or not at all; in the latter case
// Post takes it back. READs that were done along are appended to the chain: each was sampled after
// the slot that names its record, and after everything else in the chain. CASes that were done
// along (Swing) took effect behind all of that, in their order, and no block was freed for reuse in
// between. Of a chain that comes back kUnknown with its wish they may have been done.
//
// Sizes. A READ or WRITE of no bytes inside the region or at its end is allowed and does nothing. A
// chain may read 1 MiB in all beside its words, and write 1 MiB, or if nothing but WRITEs comes
// before its last WRITE as much as lengths can say (below 4 GiB each). A fabric may refuse more.
//
// Buffers. A kRead done has set `data`: to its sink, its place in the scratch, or, by reference, to
// wherever the fabric has the bytes. What the caller filled in is left as it was, but for the
// results and what was read. The chain, its scratch, sinks and tails belong to the channel from
// Post until Poll hands the chain back, or the channel is destroyed; a deadline changes nothing
// about that. `data` of a READ by reference stays mapped as long as the channel's region; what it
// shows is the protocol's business (grace period).
//
// Failure. A chain comes back as kDone, kNotExecuted (refused here, or not sent yet when the
// channel broke; nothing was done) or kUnknown (lost with its connection). After a kUnknown every
// later chain comes back kNotExecuted until the session is replaced, and broken() tells why.
class Channel {
 public:
  virtual ~Channel() = default;

  // Takes the chain; every verb's range must lie inside the region, else it comes back
  // kNotExecuted. At most `depth()` chains may be in flight. REQUIRES: 1 <= chain->count <=
  // kMaxWorks.
  virtual void Post(Chain* chain) = 0;

  // Hands back up to `max` finished chains, oldest first where the fabric keeps an order. Returns
  // how many; 0 means that none has finished yet. Never blocks.
  virtual uint32_t Poll(Chain** finished, uint32_t max) = 0;

  // Blocks until Poll may have something to hand back, `nanos` have passed, or for no reason at
  // all. Returns at once where chains are carried out in Poll.
  virtual void WaitFor(int64_t nanos) = 0;

  // Where the region is mapped into this process, if it is: READs may then be loads. Else null.
  virtual const std::byte* mapping() const { return nullptr; }

  // How many chains may be in flight at once.
  virtual uint32_t depth() const = 0;

  // OK while the channel works; afterwards the first error that broke it.
  virtual const absl::Status& broken() const = 0;

  // For what the session learns elsewhere (its lane hung up): from now on the channel is broken for
  // this reason, unless it was before.
  virtual void Break(absl::Status why) = 0;
};

}  // namespace dunlin
