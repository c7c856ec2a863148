#include "tests/simulator/faults.h"

#include <algorithm>

#include "common/base/random.h"
#include "tests/simulator/world.h"

namespace dunlin::simulator {
namespace {

constexpr int64_t kTickPeriod = 4 * kMillisecond;
// A session over a network reads the server's tick every ten seconds.
constexpr int64_t kTickRead = 12 * kSecond;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed ^ 0x5EEDFA17) {}

  bool OneIn(uint64_t n) { return random_.OneIn(n); }
  uint64_t Between(uint64_t low, uint64_t high) { return random_.Between(low, high); }
  int64_t Time(int64_t low, int64_t high) {
    return static_cast<int64_t>(
        random_.Between(static_cast<uint64_t>(low), static_cast<uint64_t>(high)));
  }

 private:
  Random random_;
};

void DrawLoad(Draw& draw, Faults& f) {
  f.clients = static_cast<uint32_t>(draw.Between(2, 8));
  f.keys = static_cast<uint32_t>(draw.OneIn(3) ? draw.Between(1, 4) + 3 : draw.Between(8, 120));
  f.hot_percent = static_cast<uint32_t>(draw.Between(0, 90));
  f.ttl_percent = draw.OneIn(3) ? 0 : static_cast<uint32_t>(draw.Between(1, 40));
  f.think = draw.OneIn(2) ? draw.Time(1, 50) * kMicrosecond : draw.Time(1, 10) * kMillisecond;
  f.operations = 2'500;
  if (draw.OneIn(4)) f.cache_bytes = 0;
  f.large_percent = static_cast<uint32_t>(draw.OneIn(2) ? 0 : draw.Between(1, 20));
  f.largest_value = draw.OneIn(3) ? 300'000 : 8'000;
  f.memory = uint64_t{draw.OneIn(2) ? 2u : 8u} << 20;
  if (!draw.OneIn(4)) return;
  f.keys = static_cast<uint32_t>(draw.Between(300, 1'200));
  f.hot_percent = 10;
  f.operations = 6'000;
}

void DrawServer(Draw& draw, Faults& f) {
  f.grace_ms = static_cast<uint32_t>(draw.OneIn(3) ? draw.Between(10, 40) : draw.Between(50, 500));
  const int64_t grace = f.grace_ms * kMillisecond;
  f.buckets = uint32_t{32} << draw.Between(0, 3);
  f.cache = draw.OneIn(6);
  f.patrol_period_ms = draw.OneIn(4) ? 10'000 : draw.Between(1, 500);
  f.lock_patience_ms = draw.OneIn(2) ? 1'000 : draw.Between(5, 200);
  if (draw.OneIn(3)) {
    f.stall_every = draw.Time(50, 500) * kMillisecond;
    f.longest_stall = draw.OneIn(3) ? 2 * grace : draw.Time(1, 50) * kMillisecond;
  }
  if (draw.OneIn(3)) {
    f.crash_every = draw.Time(300, 2'000) * kMillisecond;
    f.longest_downtime = draw.Time(1, 1'500) * kMillisecond;
  }
}

void DrawNetwork(Draw& draw, Faults& f) {
  f.carrier = static_cast<Carrier>(draw.Between(0, 5) % 4 % 3);
  f.latency = draw.Time(1, 30) * kMicrosecond;
  f.pieces = static_cast<uint32_t>(draw.OneIn(2) ? 2 : draw.Between(4, 16));
  if (draw.OneIn(2)) {
    f.tail_one_in = static_cast<uint32_t>(draw.Between(10, 500));
    f.longest_delay = draw.OneIn(4) ? f.grace_ms * kMillisecond : draw.Time(1, 5) * kMillisecond;
  }
  if (draw.OneIn(2)) {
    f.cut_every = draw.Time(20, 2'000) * kMillisecond;
    f.silent_percent = static_cast<uint32_t>(draw.Between(0, 50));
  }
  if (draw.OneIn(4)) f.loss_report_every = draw.Time(100, 2'000) * kMillisecond;
}

void DrawClients(Draw& draw, Faults& f) {
  const int64_t grace = f.grace_ms * kMillisecond;
  if (draw.OneIn(2)) f.kill_every = draw.Time(5, 500) * kMillisecond;
  if (draw.OneIn(3)) {
    f.stop_every = draw.Time(20, 500) * kMillisecond;
    f.longest_stop = draw.Time(1, 10) * kMillisecond;
    if (draw.OneIn(2)) {
      f.longest_stop = 3 * grace;
      f.stop_every = std::max(f.stop_every, grace);
    }
  }
  if (draw.OneIn(3)) {
    f.pause_one_in = static_cast<uint32_t>(draw.Between(20, 2'000));
    f.longest_pause = draw.Time(10, 3'000) * kMicrosecond;
    if (draw.OneIn(4)) {
      f.pause_one_in = static_cast<uint32_t>(draw.Between(500, 5'000));
      f.longest_pause = 2 * grace;
    }
  }
  if (draw.OneIn(2)) f.drift_ppm = draw.Time(10, 1'000);
  if (draw.OneIn(4)) {
    f.jump_every = draw.Time(200, 3'000) * kMillisecond;
    f.longest_jump = grace / 8;
  }
}

}  // namespace

Faults DrawFaults(uint64_t seed) {
  Draw draw(seed);
  Faults f;
  DrawLoad(draw, f);
  DrawServer(draw, f);
  DrawNetwork(draw, f);
  DrawClients(draw, f);
  return f;
}

void Break(Breakage breakage, Faults* faults) {
  faults->breakage = breakage;
  if (breakage != Breakage::kLateFence) return;
  // Chains that are still on their way when their client is gone.
  faults->carrier = Carrier::kOneSided;
  faults->tail_one_in = 10;
  faults->longest_delay = 300 * kMillisecond;
  faults->kill_every = 20 * kMillisecond;
  faults->think = 10 * kMicrosecond;
}

// What one side may be off by, twice: it read the tick late, or the tick was late, or its clock has
// gone its own way since.
int64_t Faults::ExpirySlack() const {
  const int64_t side = kTickPeriod + longest_stall + 8 * (longest_delay + latency) + longest_stop +
                       4 * longest_pause + kTickRead / 1'000'000 * drift_ppm +
                       (jump_every == 0 ? 0 : (2 + kTickRead / jump_every) * 2 * longest_jump);
  return 2 * side + 2 * kMillisecond;
}

std::string Describe(const Faults& f) {
  std::string text;
  auto add = [&text](const std::string& name, int64_t value) {
    if (value != 0) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  };
  auto add_time = [&text](const std::string& name, int64_t nanos) {
    if (nanos == 0) return;
    text += " " + name + "=" +
            (nanos % kMillisecond == 0 ? std::to_string(nanos / kMillisecond) + "ms"
                                       : std::to_string(nanos / kMicrosecond) + "us");
  };
  add("clients", f.clients);
  add("operations", f.operations);
  add("keys", f.keys);
  add("hot%", f.hot_percent);
  add("ttl%", f.ttl_percent);
  add("large%", f.large_percent);
  add("largest", static_cast<int64_t>(f.largest_value));
  add("memory", static_cast<int64_t>(f.memory));
  add("cache", static_cast<int64_t>(f.cache_bytes));
  add("grace", f.grace_ms);
  add("buckets", f.buckets);
  add("cache-mode", f.cache);
  add("patrol-period", static_cast<int64_t>(f.patrol_period_ms));
  add("lock-patience", static_cast<int64_t>(f.lock_patience_ms));
  add("carrier", static_cast<int64_t>(f.carrier));
  add("pieces", f.pieces);
  add_time("think", f.think);
  add_time("latency", f.latency);
  add_time("delay", f.longest_delay);
  add_time("stall-every", f.stall_every);
  add_time("stall", f.longest_stall);
  add_time("crash-every", f.crash_every);
  add_time("down", f.longest_downtime);
  add_time("cut-every", f.cut_every);
  add("silent%", f.silent_percent);
  add_time("loss-report-every", f.loss_report_every);
  add_time("kill-every", f.kill_every);
  add_time("stop-every", f.stop_every);
  add_time("stop", f.longest_stop);
  add("pause-one-in", f.pause_one_in);
  add_time("pause", f.longest_pause);
  add("drift-ppm", f.drift_ppm);
  add_time("jump-every", f.jump_every);
  add_time("jump", f.longest_jump);
  return text;
}

}  // namespace dunlin::simulator
