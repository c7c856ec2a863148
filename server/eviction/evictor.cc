#include "server/eviction/evictor.h"

#include <utility>

#include "server/index/slot_finder.h"

namespace dunlin {
namespace {

constexpr uint64_t kUpdatePeriod = 50;  // ticks
constexpr double kSmoothing = 0.3;
// Blocks are wanted for the grace period, half as much again, and so many ticks more.
constexpr uint64_t kAheadTicks = 20;
// And for who has not asked so far: so many blocks of each size, but no more than 1/2048 of the
// heap, and one at least.
constexpr uint64_t kLeastBlocks = 64;
constexpr uint64_t kLeastShare = 2048;
// Of the heap, at most so much is kept free: 1/4.
constexpr uint64_t kMostFreeShare = 4;
constexpr uint32_t kEvictionsPerStep = 256;
constexpr uint32_t kPassedPerStep = 4096;
// A class that keeps its records so many times longer than another one gives up slabs to it.
constexpr uint64_t kTooOld = 2;
constexpr uint64_t kMuchTooOld = 8;
// Of a class's records, not more than one in so many was not used lately.
constexpr uint64_t kMostlyInUse = 4;

}  // namespace

Evictor::Evictor(const RegionView& region, const Parts& parts)
    : region_(region),
      parts_(parts),
      grace_(region.geometry().grace),
      ahead_(grace_ + grace_ / 2 + kAheadTicks),
      most_free_(parts.allocator->pool().heap_bytes() / kMostFreeShare),
      words_(parts.atomics, parts.allocator) {}

void Evictor::Update(uint64_t tick) {
  const uint64_t passed = tick - updated_at_;
  if (passed < kUpdatePeriod) return;
  updated_at_ = tick;
  // What was asked for before the time for which room is to be there says little.
  const double smoothing = std::max(
      kSmoothing, std::min(1.0, static_cast<double>(passed) / static_cast<double>(ahead_)));
  for (uint32_t c = 1; c <= kRunClass; ++c) {
    Class& k = classes_[c];
    const double now = static_cast<double>(k.asked) / static_cast<double>(passed);
    // Up at once, down slowly: a burst is not to wait for the average.
    k.rate = std::max(now, k.rate + smoothing * (now - k.rate));
    if (k.rate < 1e-4) k.rate = 0;
    k.asked = 0;
    const uint32_t rounds = parts_.allocator->pool().HandRounds(static_cast<SizeClass>(c));
    if (rounds == k.rounds) continue;
    k.round_ticks = (tick - k.round_began) / (rounds - k.rounds);
    k.rounds = rounds;
    k.round_began = tick;
  }
}

// Bytes of the class that should be free or about to be.
uint64_t Evictor::Wanted(SizeClass c) const {
  const Class& k = classes_[c];
  if (k.rate == 0) return 0;
  const uint64_t blocks = static_cast<uint64_t>(k.rate * static_cast<double>(ahead_));
  const uint64_t heap = parts_.allocator->pool().heap_bytes();
  const uint64_t least = std::clamp<uint64_t>(heap / kLeastShare / BlockBytes(c), 1, kLeastBlocks);
  return std::min(most_free_, (blocks + least) * BlockBytes(c));
}

uint64_t Evictor::Missing(SizeClass c, double share) const {
  const BlockPool::ClassUse& use = parts_.allocator->pool().use(c);
  const uint64_t there = (use.free - use.closed + use.grace) * BlockBytes(c);
  const uint64_t wanted = static_cast<uint64_t>(static_cast<double>(Wanted(c)) * share);
  return wanted > there ? wanted - there : 0;
}

// All classes together don't get more than a part of the heap; each gets that share of its wish.
double Evictor::ShareOfWanted() const {
  uint64_t wanted = 0;
  for (uint32_t c = 1; c <= kLastSlabClass; ++c) wanted += Wanted(static_cast<SizeClass>(c));
  return wanted <= most_free_ ? 1 : static_cast<double>(most_free_) / static_cast<double>(wanted);
}

// How long a record of the class lives without being used, as far as is known.
uint64_t Evictor::AgeOf(SizeClass c, uint64_t tick) const {
  const Class& k = classes_[c];
  const uint64_t running = tick - k.round_began;
  return k.round_ticks == kNever ? running : std::max(running / 2, k.round_ticks);
}

SizeClass Evictor::Oldest(SizeClass but, uint64_t tick) const {
  SizeClass oldest = 0;
  std::pair<uint64_t, uint64_t> most;  // age; among equals, bytes
  for (uint32_t c = 1; c <= kLastSlabClass; ++c) {
    const SizeClass d = static_cast<SizeClass>(c);
    if (d == but || parts_.allocator->pool().use(d).bytes == 0) continue;
    const std::pair age{AgeOf(d, tick), parts_.allocator->pool().use(d).bytes};
    if (oldest == 0 || age > most) {
      oldest = d;
      most = age;
    }
  }
  return oldest;
}

bool Evictor::Step(uint64_t tick) {
  Update(tick);
  const BlockPool& pool = parts_.allocator->pool();
  DropLeft(tick);
  const uint64_t leaving = leaving_pages_ * kPageBytes;
  uint64_t spare = pool.free_page_bytes() + leaving;
  const double share = ShareOfWanted();
  bool more = ServeRuns(tick);
  for (uint32_t c = 1; c <= kLastSlabClass; ++c) {
    const SizeClass d = static_cast<SizeClass>(c);
    if (classes_[d].rate == 0) continue;
    uint64_t missing = Missing(d, share);
    if (missing == 0) continue;
    // Free pages serve any class whose slabs fit into them.
    const uint64_t served = std::min({missing, spare, pool.free_slab_bytes(d) + leaving});
    spare -= served;
    missing -= served;
    if (missing != 0) more = Serve(d, missing, tick) || more;
  }
  return more;
}

bool Evictor::Serve(SizeClass c, uint64_t missing, uint64_t tick) {
  const BlockPool& pool = parts_.allocator->pool();
  const SizeClass oldest = Oldest(c, tick);
  const bool poor = pool.use(c).bytes == 0;
  if (oldest != 0) {
    // What is too short by itself takes a whole stretch of the heap, whatever lies there.
    const bool shorter = pool.shapes()[oldest].pages < pool.shapes()[c].pages;
    const uint64_t times = shorter ? kMuchTooOld : kTooOld;
    // Where nothing is known of ages yet, who has by far the most gives.
    const bool new_and_small = classes_[c].round_ticks == kNever &&
                               pool.use(oldest).bytes > kMuchTooOld * pool.use(c).bytes;
    const bool due = poor || new_and_small || AgeOf(oldest, tick) > times * AgeOf(c, tick) + grace_;
    if (due && GiveUpSlab(oldest, tick)) {
      if (shorter) NoteMissingRun(pool.shapes()[c].pages);
      return true;
    }
  }
  victims_.clear();
  const uint64_t blocks = std::min<uint64_t>(kEvictionsPerStep, missing / BlockBytes(c) + 1);
  const uint64_t all = pool.use(c).allocated;
  const uint32_t passed = parts_.allocator->marks().AdvanceHand(
      c, static_cast<uint32_t>(std::min<uint64_t>(all, kPassedPerStep)),
      static_cast<uint32_t>(blocks), victims_);
  if (passed == all && victims_.size() * kMostlyInUse <= passed) NoteInUse(c, tick);
  EvictAll(tick);
  return passed != 0;
}

// Then the class is as good as young.
void Evictor::NoteInUse(SizeClass c, uint64_t tick) {
  classes_[c].round_ticks = 0;
  classes_[c].round_began = tick;
  classes_[c].rounds = parts_.allocator->pool().HandRounds(c);
}

bool Evictor::GiveUpSlab(SizeClass from, uint64_t tick) {
  victims_.clear();
  const uint64_t bytes = parts_.allocator->marks().CloseNext(from, tick, victims_);
  if (bytes == 0) {
    NoteInUse(from, tick);
    return false;
  }
  ++slabs_given_up_;
  Leave(tick, bytes / kPageBytes);
  EvictAll(tick);
  return true;
}

void Evictor::Leave(uint64_t tick, uint64_t pages) {
  leaving_.push_back({tick, pages});
  leaving_pages_ += pages;
}

void Evictor::DropLeft(uint64_t tick) {
  while (!leaving_.empty() && leaving_.front().tick + grace_ + kAheadTicks <= tick) {
    leaving_pages_ -= leaving_.front().pages;
    leaving_.pop_front();
  }
  // What is still closed then holds blocks that are in somebody's hands: of use to its class alone.
  if (tick < opened_at_ + ahead_ || tick < 2 * ahead_) return;
  opened_at_ = tick;
  parts_.allocator->marks().OpenClosed(0, tick - 2 * ahead_);
}

uint64_t Evictor::MissingRunPages() const {
  const BlockPool& pool = parts_.allocator->pool();
  const uint64_t there = pool.free_page_bytes() / kPageBytes + leaving_pages_;
  const double wanted = classes_[kRunClass].rate * static_cast<double>(ahead_);
  const uint64_t pages = std::min(static_cast<uint64_t>(wanted), most_free_ / kPageBytes);
  return pages > there ? pages - there : 0;
}

// Runs make room for runs, as their hand comes to them; what is too scattered for one that is asked
// for is found by emptying a stretch of the heap.
bool Evictor::ServeRuns(uint64_t tick) {
  BlockPool& pool = parts_.allocator->marks();
  const uint64_t missing = MissingRunPages();
  uint64_t pages = 0;
  for (uint32_t i = 0; i < kEvictionsPerStep && pages < missing; ++i) {
    victims_.clear();
    if (pool.AdvanceHand(kRunClass, kPassedPerStep, 1, victims_) == 0 || victims_.empty()) break;
    pages += pool.BytesOf(victims_[0]) / kPageBytes;
    EvictAll(tick);
  }
  if (pages != 0) Leave(tick, pages);
  const bool closed = run_pages_ != 0 && CloseWindow(tick);
  return pages != 0 || closed;
}

// One stretch at a time, as its pages need the grace period to become free.
bool Evictor::CloseWindow(uint64_t tick) {
  if (window_closed_at_ != 0 && tick - window_closed_at_ < ahead_) return false;
  const uint32_t wanted = run_pages_;
  run_pages_ = 0;
  BlockPool& pool = parts_.allocator->marks();
  // More than what is wanted: it need not begin where a slab does.
  const uint32_t window = std::min(pool.page_count(), wanted + 2 * pool.shapes().most_pages());
  constexpr uint32_t kTries = 64;
  for (uint32_t i = 0; i < kTries; ++i) {
    if (next_window_ + window > pool.page_count()) next_window_ = 0;
    const uint32_t first = next_window_;
    next_window_ += window;
    victims_.clear();
    if (!pool.ClosePages(first, window, tick, victims_)) continue;
    window_closed_at_ = tick;
    Leave(tick, wanted);
    EvictAll(tick);
    return true;
  }
  return false;
}

// A first look asks for the lines that the second one needs.
void Evictor::EvictAll(uint64_t tick) {
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < victims_.size() + kAhead; ++i) {
    if (i < victims_.size()) {
      __builtin_prefetch(region_.At(region_.geometry().RecordAddress(victims_[i].word())));
    }
    if (i >= kAhead) Evict(victims_[i - kAhead], tick);
  }
}

void Evictor::Evict(BlockRef block, uint64_t tick) {
  std::optional<FoundSlot> slot = FindSlot(region_, *parts_.index, parts_.allocator->pool(), block);
  // In somebody's hands, or being moved by a split.
  if (!slot || slot->word.frozen()) return;
  evicted_ += words_.Unlink(slot->address, slot->word, tick);
}

}  // namespace dunlin
