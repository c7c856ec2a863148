// soak_loader TARGET FD SEED PREFIX store|cache WAVE_BYTES: fills, checks and empties the
// store until the page behind FD says stop.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/soak/load.h"

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "soak_loader: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  dunlin::testing::LoaderPage* page = dunlin::testing::MapLoaderPage(std::atoi(argv[2]));
  if (page == nullptr) return 2;
  dunlin::testing::LoadPlan plan;
  plan.seed = std::strtoull(argv[3], nullptr, 10);
  plan.prefix = argv[4];
  plan.cache = std::string(argv[5]) == "cache";
  plan.wave_bytes = std::strtoull(argv[6], nullptr, 10);
  dunlin::ClientOptions options;
  options.connect_deadline = dunlin::Milliseconds(20'000);
  auto client = dunlin::Client::Connect(argv[1], options);
  if (!client.ok()) return Fail(client.status());
  auto session = (*client)->OpenSession();
  if (!session.ok()) return Fail(session.status());
  dunlin::testing::Load(plan, **session, *page).Run();
  return 0;
}
