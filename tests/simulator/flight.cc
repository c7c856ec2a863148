#include "tests/simulator/flight.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/layout/word.h"

namespace dunlin::simulator {
namespace {

using explorer::IsAtomic;

constexpr int64_t kBetweenVerbs = 400;

}  // namespace

Flight::Flight(World* world, const Faults* faults, Chain* chain, uint32_t end)
    : world_(*world), faults_(*faults), chain_(chain), copy_(*chain) {
  copy_.count = end;
  for (uint32_t i = 0; i < end; ++i) {
    Work& work = copy_.work[i];
    if (work.verb == Verb::kWrite) {
      std::vector<std::byte>& bytes = written_[i];
      if (work.length != 0) {
        bytes.assign(chain->scratch + work.local, chain->scratch + work.local + work.length);
      }
      if (work.tail_length != 0) bytes.insert(bytes.end(), work.tail, work.tail + work.tail_length);
    }
    if (work.verb == Verb::kRead) {
      chain->work[i].data = explorer::SinkOf(chain->work[i], chain->scratch);
    }
    Cut(i);
  }
}

// At borders of words of the region, in a random order.
void Flight::Cut(uint32_t verb) {
  const Work& work = copy_.work[verb];
  const uint32_t bytes = explorer::TouchedBytes(work);
  std::vector<Piece>& pieces = left_[verb];
  if (IsWordVerb(work.verb)) {
    pieces.push_back({0, bytes});
    return;
  }
  const uint32_t words = explorer::PartsOf(work);
  if (words == 0) return;
  const uint32_t most = std::min(words, faults_.pieces);
  const auto count = static_cast<uint32_t>(1 + world_.random().Below(most));
  uint32_t begin = 0;
  for (uint32_t i = 1; i <= count; ++i) {
    const uint32_t word = static_cast<uint32_t>(uint64_t{words} * i / count) - 1;
    const uint32_t end = i == count ? bytes : explorer::PartAt(work, word).end;
    if (end > begin) pieces.push_back({begin, end});
    begin = end;
  }
  for (size_t i = pieces.size(); i > 1; --i) {
    std::swap(pieces[i - 1], pieces[world_.random().Below(i)]);
  }
}

void Flight::Start(std::shared_ptr<Region> region, int64_t delay, std::function<void()> done) {
  region_ = std::move(region);
  done_ = std::move(done);
  world_.After(delay, [self = shared_from_this()] { self->Step(); });
}

// kMaxWorks: nothing is left.
uint32_t Flight::Choose() {
  uint32_t enabled =
      explorer::EnabledVerbs(copy_, [this](uint32_t i) { return !left_[i].empty(); });
  if (enabled == 0) return kMaxWorks;
  if (faults_.breakage == Breakage::kLostWrite) {
    for (uint32_t i = 0; i < copy_.count; ++i) {
      if (IsAtomic(copy_.work[i].verb) && !left_[i].empty()) return i;
    }
  }
  uint32_t verb = 0;
  do {
    verb = static_cast<uint32_t>(world_.random().Below(copy_.count));
  } while ((enabled >> verb & 1) == 0);
  return verb;
}

// Some pieces at once, for time passes between few of them in earnest.
void Flight::Step() {
  do {
    // Whatever is to be done at the end may hold this flight.
    std::function<void()> done;
    if (stopped_) return std::swap(done, done_);
    const uint32_t verb = Choose();
    if (verb == kMaxWorks) {
      std::swap(done, done_);
      return done();
    }
    begun_ = true;
    const Piece piece = left_[verb].back();
    left_[verb].pop_back();
    Do(verb, piece);
  } while (!world_.random().OneIn(3));
  int64_t delay = static_cast<int64_t>(world_.random().Below(kBetweenVerbs));
  if (faults_.longest_delay != 0 && world_.random().OneIn(faults_.tail_one_in)) {
    delay =
        static_cast<int64_t>(world_.random().Below(static_cast<uint64_t>(faults_.longest_delay)));
  }
  world_.After(delay, [self = shared_from_this()] { self->Step(); });
}

void Flight::Do(uint32_t verb, Piece piece) {
  Work& work = copy_.work[verb];
  std::byte* const at = region_->base() + work.remote;
  world_.Note(Happening::kVerb, static_cast<uint64_t>(work.verb), work.remote + piece.begin,
              piece.end - piece.begin);
  switch (work.verb) {
    case Verb::kRead:
      if (chain_ == nullptr) return;
      std::memcpy(explorer::SinkOf(work, copy_.scratch) + piece.begin, at + piece.begin,
                  piece.end - piece.begin);
      return;
    case Verb::kWrite:
      region_->NoteWrite(work, world_.now());
      std::memcpy(at + piece.begin, written_[verb].data() + piece.begin, piece.end - piece.begin);
      return;
    default:
      DoWord(work, at);
      if (chain_ != nullptr) chain_->work[verb].result = work.result;
  }
}

void Flight::DoWord(Work& work, std::byte* at) {
  work.result = PlainWord(at);
  if (work.verb == Verb::kFetchAdd) SetPlainWord(at, work.result + work.swap);
  if (work.verb != Verb::kCompareSwap || work.result != work.compare) return;
  if (faults_.breakage == Breakage::kForgetfulCas && world_.random().OneIn(200)) return;
  SetPlainWord(at, work.swap);
  region_->NoteSwap(work, world_.now());
}

}  // namespace dunlin::simulator
