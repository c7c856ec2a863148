#include "tests/soak/load.h"

#include <algorithm>
#include <cstring>

#include "common/base/clock.h"
#include "tests/support/stamped_value.h"

namespace dunlin::testing {
namespace {

constexpr size_t kLargestValue = 96 << 10;
constexpr int64_t kNanosOfAMilli = 1'000'000;

int64_t Now() { return SystemClock().NowNanos(); }

// Less is for who reads the page to judge, by how much the server's clock lagged.
constexpr int64_t kFarTooEarly = 2'000 * kNanosOfAMilli;

void Raise(std::atomic<int64_t>& most, int64_t value) {
  if (value > most.load(std::memory_order_relaxed)) most.store(value, std::memory_order_relaxed);
}

void Count(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace

Load::Load(const LoadPlan& plan, Session& session, LoaderPage& page)
    : plan_(plan),
      random_(plan.seed),
      session_(session),
      page_(page),
      epochs_(plan.most_keys, kAbsent),
      last_(plan.most_keys, 0),
      buffers_(kBatch, std::vector<std::byte>(kLargestValue)) {}

void Load::Run() {
  while (!stopped()) {
    Wave();
    RemoveMany();
    Count(page_.waves);
  }
}

void Load::Wave() {
  static constexpr Sizes kSizes[] = {
      {25, 100}, {200, 600}, {1000, 3000}, {8000, 16000}, {25, kLargestValue}};
  const Sizes sizes = kSizes[random_.Below(std::size(kSizes))];
  const uint64_t mean = (sizes.least + sizes.most) / 2 + 64;
  const uint64_t wanted = std::min<uint64_t>(plan_.wave_bytes / mean, plan_.most_keys);
  // Where it starts moves, so that keys of the last wave live on between those of this one.
  const auto start = static_cast<uint32_t>(random_.Below(plan_.most_keys));
  const int64_t end = Now() + plan_.wave_nanos;
  uint64_t refusals = 0;
  for (uint64_t done = 0; done < wanted && !stopped() && Now() < end && refusals < 200;) {
    std::vector<uint32_t> keys;
    for (size_t i = 0; i < kBatch; ++i, ++done) {
      keys.push_back(static_cast<uint32_t>((start + done) % plan_.most_keys));
    }
    refusals += !PutBatch(keys, sizes);
    GetBatch(PickPresent());
    if (random_.OneIn(4)) PutBatch(PickPresent(), sizes);
  }
}

// Some keys, of which most are there.
std::vector<uint32_t> Load::PickPresent() {
  std::vector<uint32_t> keys;
  for (size_t tries = 0; keys.size() < kBatch && tries < 4 * kBatch; ++tries) {
    const auto key = static_cast<uint32_t>(random_.Below(std::max<uint32_t>(top_, kBatch)));
    if (epochs_[key] == kAbsent && !random_.OneIn(16)) continue;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

void Load::RemoveMany() {
  const uint64_t permille = random_.Between(500, 980);
  uint64_t present = 0;
  for (uint32_t key = 0; key < top_; ++key) present += epochs_[key] != kAbsent;
  if (present > page_.most_records) page_.most_records = present;
  for (uint32_t key = 0; key < top_ && !stopped();) {
    std::vector<std::string> names;
    std::vector<uint32_t> keys;
    for (; key < top_ && keys.size() < kBatch; ++key) {
      if (epochs_[key] == kAbsent || random_.Below(1000) >= permille) continue;
      keys.push_back(key);
      names.push_back(KeyName(key));
    }
    std::vector<RemoveRequest> requests(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) requests[i].key = AsBytes(names[i]);
    session_.MultiRemove(requests);
    const int64_t after = Now();
    for (size_t i = 0; i < keys.size(); ++i) {
      const Outcome outcome = requests[i].result.outcome;
      Count(page_.removes);
      if (outcome == Outcome::kNotFound) VerifyAbsence(keys[i], after);
      if (outcome == Outcome::kOk || outcome == Outcome::kNotFound) {
        epochs_[keys[i]] = kAbsent;
        lives_.erase(keys[i]);
      } else {
        Refused(outcome, keys[i]);
      }
    }
  }
}

bool Load::PutBatch(const std::vector<uint32_t>& keys, const Sizes& sizes) {
  std::vector<std::string> names(keys.size()), values(keys.size());
  std::vector<PutRequest> requests(keys.size());
  std::vector<uint32_t> epochs(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    top_ = std::max(top_, keys[i] + 1);
    epochs[i] = ++last_[keys[i]];
    names[i] = KeyName(keys[i]);
    values[i] = StampedValue(names[i], NumberOf(keys[i], epochs[i]),
                             random_.Between(sizes.least, sizes.most));
    requests[i].key = AsBytes(names[i]);
    requests[i].value = AsBytes(values[i]);
    if (random_.OneIn(12)) requests[i].options.ttl = Milliseconds(random_.Between(50, 5000));
  }
  const int64_t before = Now();
  session_.MultiPut(requests);
  bool accepted = true;
  for (size_t i = 0; i < keys.size(); ++i) {
    Put(keys[i], requests[i], before, epochs[i]);
    accepted &= requests[i].result.outcome != Outcome::kMemoryFull;
  }
  return accepted;
}

void Load::Put(uint32_t key, const PutRequest& request, int64_t before, uint32_t epoch) {
  Count(page_.puts);
  if (!request.result.ok()) return Refused(request.result.outcome, key);
  epochs_[key] = epoch;
  lives_.erase(key);
  if (!request.options.ttl.has_value()) return;
  const int64_t ttl = request.options.ttl->count() * kNanosOfAMilli;
  lives_[key] = {before + ttl, Now() + ttl};
}

void Load::Refused(Outcome outcome, uint32_t key) {
  switch (outcome) {
    case Outcome::kMemoryFull:
    case Outcome::kIndexFull:
      return Count(page_.refused);
    case Outcome::kContended:
    case Outcome::kDeadlineExceeded:
    case Outcome::kUnavailable:
      return Count(page_.errors);
    case Outcome::kUnknown:
      Count(page_.unknown);
      epochs_[key] = kUnsure;
      return;
    default:
      return Violate(key, "a write answered '" + std::string(OutcomeName(outcome)) + "'");
  }
}

void Load::GetBatch(const std::vector<uint32_t>& keys) {
  std::vector<std::string> names(keys.size());
  std::vector<GetRequest> requests(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    names[i] = KeyName(keys[i]);
    requests[i].key = AsBytes(names[i]);
    requests[i].buffer = buffers_[i];
  }
  const int64_t before = Now();
  session_.MultiGet(requests);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto* text = reinterpret_cast<const char*>(buffers_[i].data());
    Verify(keys[i], requests[i].result, {text, requests[i].result.value_bytes}, before);
  }
}

void Load::Verify(uint32_t key, const GetResult& result, std::string_view value, int64_t before) {
  Count(page_.gets);
  if (epochs_[key] == kUnsure) return;
  if (result.outcome == Outcome::kNotFound) return VerifyAbsence(key, Now());
  if (result.outcome == Outcome::kDeadlineExceeded || result.outcome == Outcome::kUnavailable ||
      result.outcome == Outcome::kContended) {
    return Count(page_.errors);
  }
  if (!result.ok()) {
    return Violate(key, "a get answered '" + std::string(OutcomeName(result.outcome)) + "'");
  }
  Count(page_.hits);
  const std::optional<uint64_t> number = StampOf(KeyName(key), value);
  if (!number.has_value()) return Violate(key, "its value is damaged");
  if (epochs_[key] == kAbsent || *number != NumberOf(key, epochs_[key])) {
    return Violate(key, "expected value " + std::to_string(epochs_[key]) + ", found " +
                            std::to_string(*number & ~uint32_t{0}));
  }
  const auto life = lives_.find(key);
  if (life != lives_.end()) Raise(page_.found_late_nanos, before - life->second.until);
}

// `after`: a moment at which the store had said that the key is not there.
void Load::VerifyAbsence(uint32_t key, int64_t after) {
  if (epochs_[key] == kAbsent || epochs_[key] == kUnsure) return;
  const auto life = lives_.find(key);
  const bool expired = life != lives_.end() && after >= life->second.from - kFarTooEarly;
  if (expired) {
    Count(page_.expired);
    if (!plan_.cache) Raise(page_.gone_early_nanos, life->second.from - after);
  } else if (plan_.cache) {
    Count(page_.evicted);
  } else {
    return Violate(key, "not found; expected value " + std::to_string(epochs_[key]));
  }
  // From now on it must stay away.
  epochs_[key] = kAbsent;
  lives_.erase(key);
}

void Load::Violate(uint32_t key, const std::string& what) {
  if (page_.violations == 0) {
    const std::string text = KeyName(key) + ": " + what;
    std::strncpy(page_.message, text.c_str(), sizeof page_.message - 1);
  }
  Count(page_.violations);
}

}  // namespace dunlin::testing
