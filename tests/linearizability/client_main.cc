// linearizability_client TARGET FILE SEED CLIENT PREFIX HOT SPREAD LARGEST [stale]: does everything
// at random and records it in FILE, which exists, until it is full or told to stop.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/linearizability/workload.h"

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "linearizability_client: %s\n", status.ToString().c_str());
  return 1;
}

// A connection may be cut before it is one.
template <typename Open>
auto InSpiteOfCuts(const Open& open) {
  constexpr int kAttempts = 10;
  auto opened = open();
  for (int i = 1; i < kAttempts && absl::IsUnavailable(opened.status()); ++i) opened = open();
  return opened;
}

int Run(const std::string& target, const std::string& file,
        const dunlin::testing::WorkloadPlan& plan) {
  auto recording = dunlin::testing::Recording::Open(file, 0);
  if (!recording.ok()) return Fail(recording.status());
  dunlin::ClientOptions options;
  options.connect_deadline = dunlin::Milliseconds(20'000);
  auto client = InSpiteOfCuts([&] { return dunlin::Client::Connect(target, options); });
  if (!client.ok()) return Fail(client.status());
  auto blocking = InSpiteOfCuts([&] { return (*client)->OpenSession(); });
  if (!blocking.ok()) return Fail(blocking.status());
  auto submitting = InSpiteOfCuts([&] { return (*client)->OpenSession(); });
  if (!submitting.ok()) return Fail(submitting.status());
  {
    dunlin::testing::Workload workload(plan, **blocking, **submitting, **recording);
    while (workload.Step()) {
    }
  }
  (*recording)->header().finished = 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) return 2;
  dunlin::testing::WorkloadPlan plan;
  plan.seed = std::strtoull(argv[3], nullptr, 10);
  plan.client = static_cast<uint32_t>(std::strtoul(argv[4], nullptr, 10));
  plan.prefix = argv[5];
  plan.hot_keys = static_cast<uint32_t>(std::strtoul(argv[6], nullptr, 10));
  plan.spread_keys = static_cast<uint32_t>(std::strtoul(argv[7], nullptr, 10));
  plan.largest_value = static_cast<uint32_t>(std::strtoul(argv[8], nullptr, 10));
  plan.stale = argc > 9 && std::string(argv[9]) == "stale";
  return Run(argv[1], argv[2], plan);
}
