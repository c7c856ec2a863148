#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/fabric/on_mapping.h"
#include "common/layout/word.h"
#include "tests/conformance/site.h"
#include "tests/explorer/chain_steps.h"

namespace dunlin::testing {
namespace {

using explorer::Part;

constexpr uint64_t kRegionBytes = uint64_t{16} << 20;

struct ModelRegion {
  std::mutex mutex;  // guards all of it
  std::vector<uint64_t> words = std::vector<uint64_t>(kRegionBytes / kWordBytes);
  uint64_t taken = 4096;
  Random random{1};

  std::byte* base() { return reinterpret_cast<std::byte*>(words.data()); }
};

// Takes steps in Poll, a few at a time, so that those of other channels come between.
class ModelChannel final : public Channel {
 public:
  ModelChannel(std::shared_ptr<ModelRegion> region, bool read_only)
      : region_(std::move(region)), read_only_(read_only) {}

  void Post(Chain* chain) override {
    DUNLIN_CHECK(flights_.size() + finished_.size() < kDepth);
    DUNLIN_CHECK(chain->count >= 1 && chain->count <= kMaxWorks);
    chain->follow.wanted = false;
    if (!broken_.ok() || !ChainAllowed(*chain, kRegionBytes, read_only_)) {
      return Finish(chain, ChainOutcome::kNotExecuted);
    }
    chain->outcome = ChainOutcome::kPending;
    Flight flight;
    flight.chain = chain;
    for (uint32_t i = 0; i < chain->count; ++i) {
      Work& work = chain->work[i];
      for (uint32_t part = 0; part < explorer::PartsOf(work); ++part)
        flight.left[i].push_back(part);
      if (work.verb == Verb::kRead) work.data = explorer::SinkOf(work, chain->scratch);
    }
    flights_.push_back(std::move(flight));
  }

  uint32_t Poll(Chain** finished, uint32_t max) override {
    if (broken_.ok() && !flights_.empty()) {
      const std::lock_guard lock(region_->mutex);
      for (uint64_t steps = 1 + region_->random.Next() % kMostSteps; steps != 0; --steps) {
        if (flights_.empty()) break;
        StepOf(region_->random.Next() % flights_.size());
      }
    }
    uint32_t n = 0;
    for (; n < max && !finished_.empty(); ++n) {
      finished[n] = finished_.front();
      finished_.pop_front();
    }
    return n;
  }

  void WaitFor(int64_t) override {}
  uint32_t depth() const override { return kDepth; }
  const absl::Status& broken() const override { return broken_; }
  void Break(absl::Status why) override {
    broken_.Update(std::move(why));
    for (const Flight& each : flights_) {
      Finish(each.chain, each.begun ? ChainOutcome::kUnknown : ChainOutcome::kNotExecuted);
    }
    flights_.clear();
  }

 private:
  static constexpr uint32_t kDepth = 64;
  static constexpr uint64_t kMostSteps = 200;

  struct Flight {
    Chain* chain = nullptr;
    bool begun = false;
    std::vector<uint32_t> left[kMaxWorks];  // parts of each work that are still to be done
  };

  void Finish(Chain* chain, ChainOutcome outcome) {
    chain->outcome = outcome;
    finished_.push_back(chain);
  }

  // One word of one verb that may take effect now.
  void StepOf(size_t index) {
    Flight& flight = flights_[index];
    const uint32_t enabled =
        explorer::EnabledVerbs(*flight.chain, [&](uint32_t i) { return !flight.left[i].empty(); });
    if (enabled == 0) {
      Finish(flight.chain, ChainOutcome::kDone);
      std::swap(flight, flights_.back());
      flights_.pop_back();
      return;
    }
    uint32_t verb = 0;
    do {
      verb = static_cast<uint32_t>(region_->random.Next() % kMaxWorks);
    } while ((enabled >> verb & 1) == 0);
    std::vector<uint32_t>& left = flight.left[verb];
    std::swap(left[region_->random.Next() % left.size()], left.back());
    const uint32_t part = left.back();
    left.pop_back();
    flight.begun = true;
    Do(*flight.chain, flight.chain->work[verb], part);
  }

  void Do(Chain& chain, Work& work, uint32_t part) {
    std::byte* const at = region_->base() + work.remote;
    switch (work.verb) {
      case Verb::kRead:
        explorer::ReadPart(work, explorer::PartAt(work, part), chain.scratch, region_->base());
        break;
      case Verb::kWrite:
        explorer::WritePart(work, explorer::PartAt(work, part), chain.scratch, region_->base());
        break;
      case Verb::kReadWord:
        work.result = PlainWord(at);
        break;
      case Verb::kCompareSwap:
        work.result = PlainWord(at);
        if (work.result == work.compare) SetPlainWord(at, work.swap);
        break;
      case Verb::kFetchAdd:
        work.result = PlainWord(at);
        SetPlainWord(at, work.result + work.swap);
        break;
    }
  }

  const std::shared_ptr<ModelRegion> region_;
  const bool read_only_;
  absl::Status broken_;
  std::vector<Flight> flights_;
  std::deque<Chain*> finished_;
};

class ModelSeat final : public Seat {
 public:
  ModelSeat(std::shared_ptr<ModelRegion> region, bool read_only)
      : region_(std::move(region)), channel_(region_, read_only) {}

  Channel& channel() override { return channel_; }
  Lane* lane() override { return nullptr; }
  uint64_t region_bytes() const override { return kRegionBytes; }
  absl::StatusOr<uint64_t> Take(uint64_t bytes) override {
    const std::lock_guard lock(region_->mutex);
    bytes = (bytes + 7) / 8 * 8;
    if (bytes > kRegionBytes - region_->taken) {
      return absl::ResourceExhaustedError("the model's region is full");
    }
    region_->taken += bytes;
    return region_->taken - bytes;
  }

 private:
  const std::shared_ptr<ModelRegion> region_;
  ModelChannel channel_;
};

class ModelSite final : public Site {
 public:
  ModelSite() {
    traits_.has_server = false;
    traits_.shares_connection = false;
    traits_.largest_work = 16'384;
  }
  const SiteTraits& traits() const override { return traits_; }
  absl::StatusOr<std::unique_ptr<Seat>> Open(bool read_only) override {
    return std::make_unique<ModelSeat>(region_, read_only);
  }

 private:
  const std::shared_ptr<ModelRegion> region_ = std::make_shared<ModelRegion>();
  SiteTraits traits_;
};

}  // namespace

std::unique_ptr<Site> MakeModelSite() { return std::make_unique<ModelSite>(); }

}  // namespace dunlin::testing
