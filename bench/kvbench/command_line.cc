#include "bench/kvbench/command_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvbench {
namespace {

using Verb = CommandLine::Verb;

constexpr std::pair<std::string_view, Verb> kVerbs[] = {
    {"load", Verb::kLoad},     {"run", Verb::kRun},           {"slo", Verb::kSlo},
    {"report", Verb::kReport}, {"bindings", Verb::kBindings}, {"help", Verb::kHelp},
};

// Ours; others are the bindings' and YCSB's, of which there are many that nobody here reads.
constexpr std::array<std::string_view, 9> kOwnProperties = {
    "kvbench.batch",  "kvbench.interval", "kvbench.load",
    "kvbench.nanos",  "kvbench.overhead", "kvbench.recordbytes",
    "kvbench.remark", "kvbench.results",  "kvbench.seed"};

constexpr std::string_view kHelp =
    R"(kvbench: YCSB's workloads on Dunlin and on others, and its report

  kvbench load BINDING -P bench/workloads/workloada [options]   inserts the records
  kvbench run  BINDING -P bench/workloads/workloada [options]   carries out the operations
  kvbench slo  BINDING -P FILE -p99 10us [options]              the highest rate that meets it
  kvbench report FILE... -o page.html                           one page of the runs' results
  kvbench bindings                                              the stores that there are
  kvbench -db BINDING [-load | -t] ...                          as YCSB's own client has it

Options of load, run and slo, as YCSB has them:
  -P FILE         a file of properties; several: a later one wins
  -p NAME=VALUE   a property; wins over every file
  -threads N      (threadcount)        -target N   operations a second of all threads (target)
  -s              progress on standard error (status)       -l TEXT   a label (label)

Options of slo:
  -p99 10us, -p99.9 1ms ...   what the intended latency of every kind of operation has to keep
  -seconds N      of one step (3)      -confirm N   of the last one (10)
  -precision F    how close to come to the highest rate (0.05: within 5 %)

Options of report:
  -o FILE   where the page goes        -title TEXT        -baseline LABEL

Properties of ours beside YCSB's:
  kvbench.results=FILE    what the run measured, as JSON, for `kvbench report`
  kvbench.batch=N         operations in one call of the store (1)
  kvbench.load=true       `run` loads first, in the same process, unmeasured
  kvbench.seed=N          of all random numbers (1)
  kvbench.interval=S      seconds of a step of the time line (1)
  kvbench.overhead=false  don't measure what the driver itself costs
  kvbench.nanos=false     no lines in nanoseconds: YCSB's report and nothing else of latencies
  kvbench.remark=TEXT     for a reader of the results ("pinned to one core")
  kvbench.recordbytes=N   what a record takes, as its load found out, for the results of `run`

Exit status: 0 done; 1 could not be carried out (the store isn't there, a file can't be written);
2 what was asked for makes no sense; 3 carried out, but operations failed, records could not be
inserted or values were not what was put, or no rate meets the goal; 130 interrupted, and reported.
)";

absl::Status Refused(std::string message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, message + " (kvbench --help)");
}

class Parser {
 public:
  explicit Parser(std::span<const char* const> arguments) : rest_(arguments) {}

  absl::StatusOr<CommandLine> Parse() {
    TakeVerb();
    while (!rest_.empty()) DUNLIN_RETURN_IF_ERROR(TakeOne());
    for (const std::string& file : files_) {
      DUNLIN_RETURN_IF_ERROR(line_.properties.AddFile(file));
      line_.workload_file = file;
    }
    for (const auto& [name, value] : set_.all()) line_.properties.Set(name, value);
    DUNLIN_RETURN_IF_ERROR(Check());
    return std::move(line_);
  }

 private:
  bool Runs() const {
    return line_.verb == Verb::kLoad || line_.verb == Verb::kRun || line_.verb == Verb::kSlo;
  }

  void TakeVerb() {
    // YCSB's own form has none.
    line_.verb = rest_.empty() ? Verb::kHelp : Verb::kRun;
    for (const auto& [name, verb] : kVerbs) {
      if (rest_.empty() || rest_[0] != name) continue;
      line_.verb = verb;
      rest_ = rest_.subspan(1);
      break;
    }
    if (Runs() && !rest_.empty() && rest_[0][0] != '-') {
      line_.binding = rest_[0];
      rest_ = rest_.subspan(1);
    }
  }

  // The value of the option that was just taken.
  absl::StatusOr<std::string> Value(std::string_view option) {
    if (rest_.empty()) return Refused(std::string(option) + ": a value is missing");
    std::string value = rest_[0];
    rest_ = rest_.subspan(1);
    return value;
  }

  absl::Status TakeOne() {
    const std::string argument = rest_[0];
    rest_ = rest_.subspan(1);
    if (argument.empty() || argument[0] != '-' || argument == "-") {
      if (line_.verb != Verb::kReport) {
        return Refused("\"" + argument + "\" was not expected; there is one binding");
      }
      line_.files.push_back(argument);
      return absl::OkStatus();
    }
    // YCSB's options have one dash, everybody else's two: either will do.
    const std::string option = argument.substr(argument.starts_with("--") ? 2 : 1);
    if (option == "help" || option == "h") {
      line_.verb = Verb::kHelp;
      return absl::OkStatus();
    }
    if (option == "version") {
      line_.verb = Verb::kVersion;
      return absl::OkStatus();
    }
    if (line_.verb == Verb::kReport) return TakeReport(option, argument);
    if (line_.verb == Verb::kSlo) {
      DUNLIN_ASSIGN_OR_RETURN(const bool taken, TakeSlo(option, argument));
      if (taken) return absl::OkStatus();
    }
    if (Runs()) return TakeRun(option, argument);
    return Refused("unknown option " + argument);
  }

  absl::Status TakeRun(const std::string& option, const std::string& argument) {
    if (option == "t" || option == "load") {
      line_.verb = option == "load" ? Verb::kLoad : Verb::kRun;
      return absl::OkStatus();
    }
    if (option == "s") {
      set_.Set("status", "true");
      return absl::OkStatus();
    }
    constexpr std::pair<std::string_view, std::string_view> kNamed[] = {
        {"threads", "threadcount"}, {"target", "target"}, {"l", "label"}};
    for (const auto& [name, property] : kNamed) {
      if (option != name) continue;
      DUNLIN_ASSIGN_OR_RETURN(const std::string value, Value(argument));
      set_.Set(property, value);
      return absl::OkStatus();
    }
    if (option == "db") {
      DUNLIN_ASSIGN_OR_RETURN(line_.binding, Value(argument));
      return absl::OkStatus();
    }
    if (option == "P") {
      DUNLIN_ASSIGN_OR_RETURN(std::string file, Value(argument));
      files_.push_back(std::move(file));
      return absl::OkStatus();
    }
    if (option == "p") {
      DUNLIN_ASSIGN_OR_RETURN(const std::string value, Value(argument));
      const size_t equal = value.find('=');
      if (equal == std::string::npos || equal == 0) {
        return Refused("-p " + value + ": expected NAME=VALUE");
      }
      set_.Set(value.substr(0, equal), value.substr(equal + 1));
      return absl::OkStatus();
    }
    return Refused("unknown option " + argument);
  }

  absl::StatusOr<double> Number(const std::string& argument, double least, double most) {
    DUNLIN_ASSIGN_OR_RETURN(const std::string text, Value(argument));
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        !(value >= least && value <= most)) {
      return Refused(argument + ": expected a number from " + FormatFixed(least, 3) + " to " +
                     FormatFixed(most, 0) + ", found \"" + text + "\"");
    }
    return value;
  }

  absl::StatusOr<bool> TakeSlo(const std::string& option, const std::string& argument) {
    SloGoal& goal = line_.slo;
    if (option == "seconds") {
      DUNLIN_ASSIGN_OR_RETURN(goal.step_seconds, Number(argument, 0.2, 3600));
    } else if (option == "confirm") {
      DUNLIN_ASSIGN_OR_RETURN(goal.confirm_seconds, Number(argument, 0.2, 86400));
    } else if (option == "precision") {
      DUNLIN_ASSIGN_OR_RETURN(goal.precision, Number(argument, 0.001, 1));
    } else if (option.size() > 1 && option[0] == 'p' && option[1] >= '0' && option[1] <= '9') {
      const char* const end = option.data() + option.size();
      const auto [at, error] = std::from_chars(option.data() + 1, end, goal.percentile);
      if (error != std::errc() || at != end || goal.percentile > 100) {
        return Refused(argument + ": expected a percentile up to 100, like -p99 or -p99.9");
      }
      DUNLIN_ASSIGN_OR_RETURN(const std::string text, Value(argument));
      const absl::StatusOr<int64_t> limit = ParseDuration(text);
      if (!limit.ok()) return WithContext(limit.status(), argument);
      goal.limit_nanos = *limit;
    } else {
      return false;
    }
    return true;
  }

  absl::Status TakeReport(const std::string& option, const std::string& argument) {
    std::string* target = nullptr;
    if (option == "o" || option == "output") target = &line_.output;
    if (option == "title") target = &line_.title;
    if (option == "baseline") target = &line_.baseline;
    if (target == nullptr) return Refused("unknown option " + argument);
    DUNLIN_ASSIGN_OR_RETURN(*target, Value(argument));
    return absl::OkStatus();
  }

  absl::Status Check() const {
    if (line_.verb == Verb::kReport && (line_.files.empty() || line_.output.empty())) {
      return Refused("report: expected files of results, and -o PAGE.html");
    }
    if (line_.verb == Verb::kSlo && line_.slo.limit_nanos <= 0) {
      return Refused("slo: which latency is to be kept? Give -p99 10us, or another percentile");
    }
    if (!Runs()) return absl::OkStatus();
    if (line_.binding.empty()) {
      return Refused(
          "which store? Name a binding behind the verb, or with -db; `kvbench "
          "bindings` lists them");
    }
    for (const auto& [name, value] : line_.properties.all()) {
      if (!name.starts_with("kvbench.")) continue;
      const auto& known = kOwnProperties;
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::vector<std::string_view> near = NearMatches(name, known);
      return Refused("unknown property " + name +
                     (near.empty() ? "" : "; did you mean " + std::string(near[0]) + "?"));
    }
    return absl::OkStatus();
  }

  std::span<const char* const> rest_;
  CommandLine line_;
  std::vector<std::string> files_;
  Properties set_;
};

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(std::span<const char* const> arguments) {
  return Parser(arguments).Parse();
}

std::string_view HelpText() { return kHelp; }

}  // namespace dunlin::kvbench
