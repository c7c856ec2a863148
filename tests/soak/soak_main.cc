// soak: see tests/soak/run, which starts it.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "tests/soak/page.h"

namespace {

constexpr char kUsage[] =
    "soak [--minutes N] [--modes store,cache] [--memory-mib N] [--seed N] [--page FILE]\n"
    "The fabric is that of TEST_FABRIC: shm (default), tcp, rxe or siw.\n"
    "Exit status: 0; 1: something went wrong, the page says what; 2: could not be run.\n";

struct Arguments {
  double minutes = 2;
  std::string modes = "store,cache";
  uint64_t memory_mib = 512;
  uint64_t seed = std::random_device()();
  std::string page;
};

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--minutes") {
      arguments->minutes = std::atof(value);
    } else if (name == "--modes") {
      arguments->modes = value;
    } else if (name == "--memory-mib") {
      arguments->memory_mib = std::strtoull(value, nullptr, 10);
    } else if (name == "--seed") {
      arguments->seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--page") {
      arguments->page = value;
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && arguments->minutes > 0 && arguments->memory_mib >= 16;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::vector<std::string> modes = Split(arguments.modes);
  dunlin::testing::PhasePlan plan;
  plan.server_binary = DUNLIN_SERVER_BINARY;
  plan.client_binary = DUNLIN_CLIENT_BINARY;
  plan.loader_binary = DUNLIN_LOADER_BINARY;
  plan.memory_mib = arguments.memory_mib;
  plan.seed = arguments.seed;
  plan.fabric = dunlin::testing::FabricUnderTest();
  plan.nanos = static_cast<int64_t>(arguments.minutes * 60e9 / static_cast<double>(modes.size()));
  std::vector<dunlin::testing::PhaseFigures> phases;
  int status = 0;
  for (const std::string& mode : modes) {
    plan.mode = mode;
    auto figures = dunlin::testing::RunPhase(plan);
    if (!figures.ok()) {
      std::cerr << "soak: " << mode << ", seed " << plan.seed << ": " << figures.status() << "\n";
      status = 2;
      break;
    }
    phases.push_back(*std::move(figures));
  }
  const char* fabric = std::getenv("TEST_FABRIC");
  if (phases.empty()) return status;
  // What came to its end counts, even if what followed did not.
  const std::string page = dunlin::testing::FiguresPage(fabric == nullptr ? "shm" : fabric,
                                                        plan.seed, plan.memory_mib, phases);
  std::cout << page;
  if (!arguments.page.empty() && !(std::ofstream(arguments.page) << page)) {
    std::cerr << "soak: cannot write " << arguments.page << "\n";
    return 2;
  }
  if (status != 0) return status;
  return dunlin::testing::Faults(phases).empty() ? 0 : 1;
}
