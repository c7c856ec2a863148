#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "tests/explorer/mutations.h"
#include "tests/explorer/scenario.h"
#include "tests/explorer/search.h"

namespace dunlin::explorer {
namespace {

struct Options {
  bool list = false;
  bool long_set = false;
  std::string scenario;
  std::string mutation;
  // Of one scenario. A limit that was not asked for is a failure when it is reached.
  uint64_t max_states = 50'000'000;
  bool limited = false;
};

void PrintViolation(const Scenario& scenario, const SearchResult& r) {
  std::printf("\n%s: %s\n", scenario.name.c_str(), r.violation.c_str());
  for (const std::string& line : r.trace) std::printf("  %s\n", line.c_str());
  std::fflush(stdout);
}

int Explore(const Options& options) {
  SearchResult total;
  int failed = 0;
  int matched = 0;
  int cut_short = 0;
  for (const Scenario& s : AllScenarios()) {
    if (!options.scenario.empty() && s.name.find(options.scenario) == std::string::npos) continue;
    if (s.long_only && !options.long_set && options.scenario.empty()) continue;
    ++matched;
    if (options.list) {
      std::printf("%s\n", s.name.c_str());
      continue;
    }
    SearchResult r = Search(s, options.max_states);
    std::printf("%-40s %9" PRIu64 " states %10" PRIu64 " transitions %7" PRIu64
                " histories  %8.2g interleavings %6.2f s%s\n",
                s.name.c_str(), r.states, r.transitions, r.histories, r.interleavings, r.seconds,
                r.exhausted ? "" : "  NOT EXHAUSTED");
    std::fflush(stdout);
    total.states += r.states;
    total.transitions += r.transitions;
    total.histories += r.histories;
    total.seconds += r.seconds;
    cut_short += !r.exhausted && r.violation.empty();
    if (!r.violation.empty()) {
      ++failed;
      PrintViolation(s, r);
      if (failed >= 5) break;
    }
  }
  if (matched == 0) {
    std::fprintf(stderr, "no scenario's name contains '%s'; --list names them all\n",
                 options.scenario.c_str());
    return 2;
  }
  if (options.list) return 0;
  std::printf("in all: %d scenarios, %" PRIu64 " states, %" PRIu64 " transitions, %" PRIu64
              " histories, %.1f s, %d not exhausted, %d violations\n",
              matched, total.states, total.transitions, total.histories, total.seconds, cut_short,
              failed);
  return failed == 0 && (cut_short == 0 || options.limited) ? 0 : 1;
}

// Breaks one rule and looks for a scenario that notices: where it ought to be noticed, then, in a
// long run, anywhere.
bool Caught(const MutationInfo& info, const std::vector<Scenario>& scenarios,
            const Options& options) {
  active_mutation = info.mutation;
  SearchResult r;
  const Scenario* by = nullptr;
  for (bool anywhere : {false, true}) {
    if (anywhere && !options.long_set) break;
    for (const Scenario& s : scenarios) {
      if (by != nullptr || (!anywhere && !s.name.starts_with(info.scenario))) continue;
      if (!options.scenario.empty() && s.name.find(options.scenario) == std::string::npos) continue;
      if (s.long_only && anywhere && !options.long_set) continue;
      r = Search(s, options.max_states);
      if (!r.violation.empty()) by = &s;
    }
  }
  active_mutation = Mutation::kNone;
  std::printf("%-28s %-66s %s\n", std::string(info.name).c_str(), std::string(info.rule).c_str(),
              by == nullptr ? "NOT CAUGHT" : (by->name + ": " + r.violation).c_str());
  if (by != nullptr && options.mutation != "all") PrintViolation(*by, r);
  std::fflush(stdout);
  return by != nullptr;
}

int BreakRules(const Options& options) {
  const std::vector<Scenario> scenarios = AllScenarios();
  int tried = 0;
  int missed = 0;
  for (const MutationInfo& info : AllMutations()) {
    if (options.mutation != "all" && options.mutation != info.name) continue;
    ++tried;
    if (!Caught(info, scenarios, options)) ++missed;
  }
  std::printf("%d rules broken, %d of them unnoticed\n", tried, missed);
  if (tried == 0) std::fprintf(stderr, "no mutation is called %s\n", options.mutation.c_str());
  return tried != 0 && missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dunlin::explorer

int main(int argc, char** argv) {
  dunlin::explorer::Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    bool more = i + 1 < argc;
    if (arg == "--list") {
      options.list = true;
    } else if (arg == "--long") {
      options.long_set = true;
    } else if (arg == "--scenario" && more) {
      options.scenario = argv[++i];
    } else if (arg == "--mutation" && more) {
      options.mutation = argv[++i];
    } else if (arg == "--max-states" && more) {
      options.max_states = std::strtoull(argv[++i], nullptr, 10);
      options.limited = true;
    } else {
      std::fprintf(stderr,
                   "usage: explorer [options]   every interleaving of the scenarios, checked\n"
                   "  --list            name the scenarios\n"
                   "  --scenario TEXT   only those whose name contains it\n"
                   "  --long            also those that take long\n"
                   "  --mutation NAME   break that rule of the protocol, or 'all' in turn, and\n"
                   "                    expect to notice\n"
                   "  --max-states N    look at no more than N states of a scenario\n");
      return 2;
    }
  }
  return options.mutation.empty() ? dunlin::explorer::Explore(options)
                                  : dunlin::explorer::BreakRules(options);
}
