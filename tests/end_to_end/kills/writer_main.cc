// kills_test_writer TARGET FILE SEED KEYS: until it is killed, puts, replaces, touches and removes
// random ones of KEYS keys with stamped values of all sizes, and keeps in FILE how many it did.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "dunlin/client.h"
#include "tests/end_to_end/kills/progress_page.h"
#include "tests/support/stamped_value.h"

namespace {

using dunlin::AsBytes;
using dunlin::Outcome;

int Fail(std::string_view what) {
  std::fprintf(stderr, "kills_test_writer: %s\n", std::string(what).c_str());
  return 1;
}

// A tenth of all writes goes to eight keys, so that their locks and slots are fought over.
std::string PickKey(dunlin::Random& random, uint64_t keys) {
  return "key-" + std::to_string(random.OneIn(10) ? random.Below(8) : random.Below(keys));
}

// Mostly of slabs, now and then a run of pages.
size_t PickBytes(dunlin::Random& random) {
  return random.OneIn(60) ? random.Between(33 << 10, 200 << 10) : random.Between(25, 2500);
}

Outcome WriteMany(dunlin::Session& session, dunlin::Random& random, uint64_t keys) {
  std::string names[8], values[8];
  std::vector<dunlin::PutRequest> requests(8);
  for (size_t i = 0; i < requests.size(); ++i) {
    names[i] = PickKey(random, keys);
    values[i] = dunlin::testing::StampedValue(names[i], random.Next(), PickBytes(random));
    requests[i].key = AsBytes(names[i]);
    requests[i].value = AsBytes(values[i]);
  }
  session.MultiPut(requests);
  for (const auto& request : requests) {
    if (!request.result.ok()) return request.result.outcome;
  }
  return Outcome::kOk;
}

Outcome Write(dunlin::Session& session, dunlin::Random& random, uint64_t keys, uint64_t which) {
  const std::string key = PickKey(random, keys);
  const std::string value = dunlin::testing::StampedValue(key, random.Next(), PickBytes(random));
  dunlin::PutOptions options;
  if (random.OneIn(3)) options.ttl = dunlin::Milliseconds(3'600'000);
  switch (which) {
    case 0:
    case 1:
      return session.RemoveBytes(AsBytes(key)).outcome;
    case 2:
      options.mode = dunlin::PutMode::kIfAbsent;
      break;
    case 3:
      options.mode = dunlin::PutMode::kIfPresent;
      break;
    case 4:
      return session.Touch(AsBytes(key), options.ttl).outcome;
    case 5: {
      const dunlin::GetResult head = session.Head(AsBytes(key));
      if (!head.ok()) return head.outcome;
      return session.CompareAndSet(AsBytes(key), head.version, AsBytes(value), options).outcome;
    }
    case 6:
      return WriteMany(session, random, keys);
    default:
      break;
  }
  return session.PutBytes(AsBytes(key), AsBytes(value), options).outcome;
}

bool Expected(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
    case Outcome::kNotFound:
    case Outcome::kExists:
    case Outcome::kVersionMismatch:
    // In the way of the dead and the stopped, for a while.
    case Outcome::kContended:
    case Outcome::kDeadlineExceeded:
    // What the dead left is found later than it is needed.
    case Outcome::kMemoryFull:
      return true;
    default:
      return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  dunlin::testing::ProgressPage progress(argv[2]);
  if (!progress.ok()) return Fail("no page for the progress");
  dunlin::ClientOptions options;
  options.connect_deadline = dunlin::Milliseconds(20'000);
  auto client = dunlin::Client::Connect(argv[1], options);
  if (!client.ok()) return Fail(client.status().ToString());
  auto session = (*client)->OpenSession();
  if (!session.ok()) return Fail(session.status().ToString());
  dunlin::Random random(std::strtoull(argv[3], nullptr, 10));
  const uint64_t keys = std::strtoull(argv[4], nullptr, 10);
  for (uint64_t writes = 1;; ++writes) {
    const uint64_t which = random.Below(12);
    const Outcome outcome = Write(**session, random, keys, which);
    if (!Expected(outcome)) {
      return Fail(std::string(dunlin::OutcomeName(outcome)) + " of operation " +
                  std::to_string(which) + " " + (*session)->connection().ToString());
    }
    progress.set_writes(writes);
  }
}
