#include "client/kvctl/commands/metrics.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace dunlin::kvctl {
namespace {

constexpr double kSecondsPerMilli = 1e-3;
constexpr double kSecondsPerNano = 1e-9;

using Label = std::pair<std::string_view, std::string_view>;

std::string NumberText(double value) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string NumberText(uint64_t value) { return std::to_string(value); }

void AppendLabelValue(std::string_view value, std::string* out) {
  for (const char c : value) {
    if (c == '\\' || c == '"') *out += '\\';
    *out += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
}

class Exposition {
 public:
  template <typename Number>
  void Gauge(std::string_view name, std::string_view help, Number value) {
    Begin(name, help, "gauge");
    Sample({}, value);
  }
  template <typename Number>
  void Counter(std::string_view name, std::string_view help, Number value) {
    Begin(name, help, "counter");
    Sample({}, value);
  }
  // Then its samples, one after another.
  void Begin(std::string_view name, std::string_view help, std::string_view type) {
    name_ = "dunlin_" + std::string(name);
    text_ += "# HELP " + name_ + " ";
    text_ += help;
    text_ += "\n# TYPE " + name_ + " ";
    text_ += type;
    text_ += "\n";
  }
  template <typename Number>
  void Sample(std::initializer_list<Label> labels, Number value) {
    text_ += name_;
    char separator = '{';
    for (const auto& [label, text] : labels) {
      text_ += std::exchange(separator, ',');
      text_ += label;
      text_ += "=\"";
      AppendLabelValue(text, &text_);
      text_ += '"';
    }
    if (labels.size() != 0) text_ += '}';
    text_ += " " + NumberText(value) + "\n";
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

void AddServer(const ServerStatus& s, Exposition& e) {
  e.Begin("info", "What runs; the value is always 1.", "gauge");
  e.Sample({{"release", s.release},
            {"state", s.state},
            {"mode", s.mode},
            {"atomic_domain", s.atomic_domain},
            {"layout", std::to_string(s.layout_version)}},
           uint64_t{1});
  e.Gauge("uptime_seconds", "Since the server's start.",
          static_cast<double>(s.uptime_ms) * kSecondsPerMilli);
  e.Gauge("tick_lag_max_seconds", "The longest that the server's clock word lagged behind.",
          static_cast<double>(s.tick_lag_ms_max) * kSecondsPerMilli);
  e.Gauge("sessions", "Sessions open now.", uint64_t{s.sessions.size()});
  e.Counter("sessions_opened_total", "Sessions opened.", s.sessions_opened);
  e.Counter("sessions_lost_total", "Sessions whose client died or vanished.", s.sessions_lost);
  e.Counter("sessions_killed_total", "Sessions ended by force, as others waited for their locks.",
            s.sessions_killed);
  e.Counter("connections_refused_total", "Connections refused.", s.connections_refused);
  e.Counter("returns_refused_total", "Blocks that clients returned and did not own.",
            s.returns_refused);
}

void AddMemory(const ServerStatus& s, Exposition& e) {
  e.Gauge("region_bytes", "The memory that clients read and write.", s.region_bytes);
  e.Gauge("heap_bytes", "Of it, for records.", s.heap_bytes);
  e.Gauge("heap_used_bytes", "Of the heap, in use.", s.heap_used_bytes);
  e.Gauge("heap_free_bytes", "Of the heap, free.", s.heap_free_bytes);
  e.Gauge("heap_grace_bytes", "Of the heap, unlinked and not reusable yet.", s.heap_grace_bytes);
  e.Gauge("heap_index_bytes", "Of the heap, taken by the index as it grew.", s.heap_index_bytes);
  e.Gauge("huge_pages", "1 if the region lies on huge pages.", uint64_t{s.huge_pages});
  e.Counter("evicted_total", "Records that made room for others.", s.evicted);
  e.Begin("class_blocks", "Blocks of each size class.", "gauge");
  for (const ServerClassUse& use : s.classes) {
    const std::string bytes = use.block_bytes == 0 ? "runs" : std::to_string(use.block_bytes);
    e.Sample({{"block_bytes", bytes}, {"state", "used"}}, use.blocks_used);
    e.Sample({{"block_bytes", bytes}, {"state", "free"}}, use.blocks_free);
  }
}

void AddIndex(const ServerStatus& s, Exposition& e) {
  e.Gauge("items", "Records, as last counted.", s.items);
  e.Gauge("index_slots", "Slots for records.", s.index_slots);
  e.Gauge("index_bytes", "Memory of the index.", s.index_bytes);
  e.Gauge("subtables", "Subtables of the index.", s.subtables);
  e.Counter("splits_total", "Subtables split.", s.splits);
  e.Gauge("split_max_seconds", "The longest that writes to a subtable waited for its split.",
          static_cast<double>(s.split_ms_max) * kSecondsPerMilli);
}

void AddPatrol(const ServerPatrol& p, Exposition& e) {
  e.Counter("patrol_walks_total", "Walks of the index.", p.walks);
  e.Counter("patrol_cpu_seconds_total", "CPU time of the patrol.",
            static_cast<double>(p.cpu_nanos) * kSecondsPerNano);
  e.Counter("expired_total", "Records reclaimed after their time to live.", p.expired);
  e.Counter("relocated_total", "Records moved out of sparse slabs.", p.relocated);
  e.Counter("swept_blocks_total", "Blocks that were nobody's.", p.swept_blocks);
  e.Counter("locks_released_total", "Locks of sessions that were no more.", p.locks_released);
  e.Gauge("lock_release_max_seconds", "The longest that clients asked for one in vain.",
          static_cast<double>(p.lock_release_ms_max) * kSecondsPerMilli);
}

void AddSnapshots(const ServerSnapshots& s, int64_t now_unix_ms, Exposition& e) {
  e.Gauge("snapshot_failing", "1 if the last attempt at a snapshot failed.",
          uint64_t{!s.trouble.empty()});
  e.Counter("snapshots_made_total", "Snapshots made.", s.made);
  e.Counter("snapshots_failed_total", "Attempts that failed.", s.failed);
  e.Gauge("snapshot_last_id", "The newest snapshot; 0: none.", s.last_id);
  e.Gauge("snapshot_last_records", "Its records.", s.last_records);
  if (s.last_id != 0) {
    e.Gauge("snapshot_age_seconds", "Since the newest was finished.",
            static_cast<double>(std::max<int64_t>(0, now_unix_ms - s.last_finished_unix_ms)) *
                kSecondsPerMilli);
  }
  if (s.at_risk_ms) {
    e.Gauge("snapshot_at_risk_seconds", "A crash now loses writes of so long at most.",
            static_cast<double>(*s.at_risk_ms) * kSecondsPerMilli);
  }
  e.Gauge("snapshot_interval_seconds", "From one to the next; 0: on demand only.",
          static_cast<double>(s.interval_ms) * kSecondsPerMilli);
  e.Gauge("snapshot_last_pass_seconds", "That the last one took.",
          static_cast<double>(s.last_pass_ms) * kSecondsPerMilli);
  e.Gauge("snapshot_damaged_records", "Records that the last pass had to leave out.",
          s.damaged_records);
  e.Gauge("snapshot_memory_bytes", "Memory that snapshots take.", s.memory_bytes);
  e.Counter("snapshot_cpu_seconds_total", "CPU time of snapshots in the server's thread.",
            static_cast<double>(s.cpu_nanos) * kSecondsPerNano);
  e.Gauge("snapshots_skipped", "Snapshots that could not be used at the start.",
          uint64_t{s.skipped.size()});
}

}  // namespace

std::string MetricsText(const ServerStatus& status, int64_t now_unix_ms) {
  Exposition e;
  AddServer(status, e);
  AddMemory(status, e);
  AddIndex(status, e);
  AddPatrol(status.patrol, e);
  if (status.snapshots) AddSnapshots(*status.snapshots, now_unix_ms, e);
  return e.Take();
}

ExitCode RunMetrics(Context& context) {
  const absl::StatusOr<ServerStatus> status = context.client->Status();
  if (!status.ok()) return Fail(context, status.status());
  return PrintBytes(context, MetricsText(*status, context.clock->WallNanos() / 1'000'000));
}

}  // namespace dunlin::kvctl
