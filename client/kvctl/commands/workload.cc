#include "client/kvctl/commands/workload.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/histogram.h"
#include "common/base/random.h"

namespace dunlin::kvctl {
namespace {

constexpr uint64_t kBatch = 64;
constexpr uint64_t kBetweenLooks = 512;

struct Workload {
  Context& context;
  const WorkloadArguments& arguments;
  std::string prefix;
  std::string value;
  std::vector<std::byte> buffer;
  // Of reads and of writes; large, so not on the stack.
  std::unique_ptr<Histogram> reads = std::make_unique<Histogram>();
  std::unique_ptr<Histogram> writes = std::make_unique<Histogram>();
  uint64_t failed = 0;
  int64_t nanos = 0;

  std::string Key(uint64_t n) const { return absl::StrCat(prefix, n); }
};

Outcome Fill(Workload& w) {
  std::vector<std::string> keys(kBatch);
  std::vector<PutRequest> puts;
  for (uint64_t n = 0; n < w.arguments.keys;) {
    puts.clear();
    for (uint64_t i = 0; i < kBatch && n < w.arguments.keys; ++i, ++n) {
      keys[i] = w.Key(n);
      puts.push_back({.key = AsBytes(keys[i]), .value = AsBytes(w.value)});
    }
    w.context.session->MultiPut(puts);
    for (const PutRequest& put : puts) {
      if (!put.result.ok()) return put.result.outcome;
    }
  }
  return Outcome::kOk;
}

void Clear(Workload& w) {
  std::vector<std::string> keys(kBatch);
  std::vector<RemoveRequest> removes;
  for (uint64_t n = 0; n < w.arguments.keys;) {
    removes.clear();
    for (uint64_t i = 0; i < kBatch && n < w.arguments.keys; ++i, ++n) {
      keys[i] = w.Key(n);
      removes.push_back({.key = AsBytes(keys[i])});
    }
    w.context.session->MultiRemove(removes);
    for (const RemoveRequest& remove : removes) {
      bool gone = remove.result.ok() || remove.result.outcome == Outcome::kNotFound;
      if (!gone) ++w.failed;
    }
  }
}

bool OneOperation(Workload& w, Random& random) {
  const std::string key = w.Key(random() % w.arguments.keys);
  const bool read = random() % 100 < w.arguments.reads;
  const int64_t begin = w.context.clock->NowNanos();
  const bool ok = read ? w.context.session->GetInto(AsBytes(key), w.buffer).ok()
                       : w.context.session->PutBytes(AsBytes(key), AsBytes(w.value)).ok();
  const int64_t taken = w.context.clock->NowNanos() - begin;
  (read ? *w.reads : *w.writes).Record(static_cast<uint64_t>(std::max<int64_t>(taken, 0)));
  return ok;
}

void Run(Workload& w) {
  Progress progress({.mode = w.arguments.progress,
                     .terminal = w.context.err_is_terminal,
                     .columns = w.context.err_columns,
                     .label = "workload",
                     .unit = "operations"},
                    w.context.clock, w.context.err);
  Random random(static_cast<uint64_t>(w.context.clock->WallNanos()));
  const int64_t whole = std::chrono::nanoseconds(w.arguments.time).count();
  const int64_t begin = w.context.clock->NowNanos();
  Progress::State state;
  while (w.nanos < whole) {
    for (uint64_t i = 0; i < kBetweenLooks; ++i) {
      if (!OneOperation(w, random)) ++w.failed;
    }
    w.nanos = w.context.clock->NowNanos() - begin;
    state.done += kBetweenLooks;
    state.failed = w.failed;
    state.fraction = std::min(1.0, static_cast<double>(w.nanos) / static_cast<double>(whole));
    progress.Update(state);
  }
  progress.Finish(state);
}

Report Latencies(const Histogram& histogram) {
  Report report;
  report.Add("operations", histogram.count());
  report.Add("median", histogram.Percentile(50), Unit::kNanos);
  report.Add("p99", histogram.Percentile(99), Unit::kNanos);
  report.Add("p999", histogram.Percentile(99.9), Unit::kNanos);
  report.Add("longest", histogram.max(), Unit::kNanos);
  return report;
}

}  // namespace

ExitCode RunWorkload(Context& context, const WorkloadArguments& arguments) {
  Workload w{context, arguments, absl::StrCat("kvctl-workload/", context.clock->WallNanos(), "/"),
             std::string(arguments.value_bytes, 'w'),
             std::vector<std::byte>(arguments.value_bytes)};
  const Outcome filled = Fill(w);
  if (filled == Outcome::kOk) Run(w);
  Clear(w);
  if (filled != Outcome::kOk) {
    return Fail(context, FailureOf(filled, "filling the workload's keys"));
  }

  const uint64_t operations = w.reads->count() + w.writes->count();
  Report report;
  report.Add("operations", operations);
  report.Add("failed", w.failed);
  report.Add("rate", static_cast<double>(operations) * 1e9 / static_cast<double>(w.nanos),
             Unit::kRate);
  report.AddObject("reads", Latencies(*w.reads));
  report.AddObject("writes", Latencies(*w.writes));
  const ExitCode printed = Print(context, report);
  return w.failed == 0 ? printed : ExitCode::kOther;
}

}  // namespace dunlin::kvctl
