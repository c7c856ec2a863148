#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "tests/simulator/faults.h"
#include "tests/simulator/simulation.h"

namespace dunlin::simulator {
namespace {

struct Arguments {
  uint64_t seed = 0;
  bool fresh = false;  // no seed was given
  uint64_t seeds = 1;
  uint64_t seconds = 0;
  bool trace = false;
  bool twice = false;
  bool quiet = false;
  std::string breakage;
};

Breakage BreakageOf(const std::string& name) {
  if (name == "no-grace") return Breakage::kNoGrace;
  if (name == "late-fence") return Breakage::kLateFence;
  if (name == "lost-write") return Breakage::kLostWrite;
  if (name == "forgetful-cas") return Breakage::kForgetfulCas;
  return Breakage::kNone;
}

void PrintFailure(uint64_t seed, const Faults& faults, const Outline& outline) {
  std::printf("seed %llu FAILED\n  %s\n", static_cast<unsigned long long>(seed),
              Describe(faults).c_str());
  constexpr size_t kMostShown = 8;
  for (size_t i = 0; i < outline.violations.size() && i < kMostShown; ++i) {
    std::printf("  %s\n", outline.violations[i].c_str());
  }
  if (outline.violations.size() > kMostShown) {
    std::printf("  ... and %zu more\n", outline.violations.size() - kMostShown);
  }
}

int Run(const Arguments& arguments) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.seconds);
  const bool breaks = !arguments.breakage.empty();
  Outline total;
  uint64_t runs = 0;
  bool failed = false;
  for (uint64_t seed = arguments.seed;; ++seed, ++runs) {
    if (arguments.seconds == 0 ? runs == arguments.seeds
                               : std::chrono::steady_clock::now() >= end) {
      break;
    }
    Faults faults = DrawFaults(seed);
    if (breaks) Break(BreakageOf(arguments.breakage), &faults);
    Outline outline = Simulate(seed, faults, arguments.trace);
    if (arguments.twice && Simulate(seed, faults, false).digest != outline.digest) {
      outline.violations.push_back("a second run of the same seed was another one");
    }
    total.Add(outline);
    if (!arguments.quiet) {
      std::printf("seed %llu: %s; digest %016llx\n", static_cast<unsigned long long>(seed),
                  outline.Line().c_str(), static_cast<unsigned long long>(outline.digest));
    }
    if (outline.violations.empty()) continue;
    failed = true;
    PrintFailure(seed, faults, outline);
    std::printf("  to see it again: simulator --seed %llu%s --trace\n",
                static_cast<unsigned long long>(seed),
                breaks ? (" --break " + arguments.breakage).c_str() : "");
    if (breaks || arguments.seeds > 1 || arguments.seconds != 0) {
      ++runs;
      break;
    }
  }
  std::printf("%llu runs from seed %llu: %s\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(arguments.seed), total.Line().c_str());
  if (breaks) {
    std::printf(failed ? "the breakage was noticed\n" : "the breakage was NOT noticed\n");
    return failed ? 0 : 1;
  }
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace dunlin::simulator

int main(int argc, char** argv) {
  dunlin::simulator::Arguments arguments;
  CLI::App app("Runs the shipping client and server under one seed in simulated time.");
  CLI::Option* seed =
      app.add_option("--seed", arguments.seed, "the first seed; without one, a fresh one is drawn");
  app.add_option("--seeds", arguments.seeds, "how many seeds, from that one on");
  app.add_option("--seconds", arguments.seconds, "instead: as many as fit into that time");
  app.add_flag("--trace", arguments.trace, "print all that happens");
  app.add_flag("--twice", arguments.twice, "run each seed twice and compare");
  app.add_flag("--quiet", arguments.quiet, "no line for each seed");
  app.add_option("--break", arguments.breakage,
                 "break a rule on purpose; succeeds if that is noticed")
      ->check(CLI::IsMember({"no-grace", "late-fence", "lost-write", "forgetful-cas"}));
  CLI11_PARSE(app, argc, argv);
  if (seed->count() == 0) arguments.seed = std::random_device{}();
  return dunlin::simulator::Run(arguments);
}
