#include "tests/soak/page.h"

#include <cstdio>
#include <functional>

namespace dunlin::testing {
namespace {

std::string Number(double value, int digits = 0) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// 1234567 as "1,234,567".
std::string Number(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string Millis(int64_t nanos) { return Number(static_cast<double>(nanos) * 1e-6, 1) + " ms"; }
std::string Mebibytes(uint64_t bytes) {
  return Number(static_cast<double>(bytes) / (1 << 20), 1) + " MiB";
}

struct Row {
  const char* name;
  std::function<std::string(const PhaseFigures&)> value;
};

const std::vector<Row>& Rows() {
  using P = PhaseFigures;
  static const auto* rows = new std::vector<Row>{
      {"time", [](const P& p) { return Number(p.seconds) + " s"; }},
      {"operations", [](const P& p) { return Number(p.fleet.operations + p.load.operations()); }},
      {"a second",
       [](const P& p) {
         return Number(static_cast<uint64_t>(
             static_cast<double>(p.fleet.operations + p.load.operations()) / p.seconds));
       }},
      {"of them recorded and checked", [](const P& p) { return Number(p.fleet.operations); }},
      {"histories (one a key)", [](const P& p) { return Number(p.fleet.histories); }},
      {"client processes", [](const P& p) { return Number(p.fleet.clients); }},
      {"killed (SIGKILL)", [](const P& p) { return Number(p.fleet.kills); }},
      {"stopped and continued", [](const P& p) { return Number(p.fleet.stops); }},
      {"ended by the server: held a lock too long",
       [](const P& p) { return Number(p.fleet.ended_by_server); }},
      {"operations cut off by death", [](const P& p) { return Number(p.fleet.unanswered); }},
      {"answers \"may have been executed\"",
       [](const P& p) { return Number(p.fleet.unknown + p.load.unknown); }},
      {"answers \"nothing was changed\" (full, contended, late)",
       [](const P& p) { return Number(p.fleet.errors + p.load.errors); }},
      {"writes refused: full", [](const P& p) { return Number(p.load.refused); }},
      {"calls that waited across a death", [](const P& p) { return Number(p.fleet.waits); }},
      {"longest, from the first death in it on, whoever held the lock",
       [](const P& p) { return Millis(p.fleet.longest_wait_nanos); }},
      {"longest that a lock of the dead was asked for",
       [](const P& p) { return Number(p.last.patrol.lock_release_ms_max) + " ms"; }},
      {"locks examined, released",
       [](const P& p) {
         return Number(p.last.patrol.locks_examined) + ", " + Number(p.last.patrol.locks_released);
       }},
      {"waves of records", [](const P& p) { return Number(p.load.waves); }},
      {"most records at a time", [](const P& p) { return Number(p.load.most_records); }},
      {"most heap in use",
       [](const P& p) {
         return Mebibytes(p.most_used_bytes) + " of " + Mebibytes(p.last.heap_bytes);
       }},
      {"evictions", [](const P& p) { return Number(p.last.evicted); }},
      {"records reclaimed after their time",
       [](const P& p) { return Number(p.last.patrol.expired); }},
      {"found late, gone early at most",
       [](const P& p) {
         return Millis(p.load.found_late_nanos) + ", " + Millis(p.load.gone_early_nanos);
       }},
      {"longest lag of the server's clock",
       [](const P& p) { return Number(p.last.tick_lag_ms_max) + " ms"; }},
      {"splits, the longest",
       [](const P& p) {
         return Number(p.last.splits) + ", " + Number(p.last.split_ms_max) + " ms";
       }},
      {"relocations", [](const P& p) { return Number(p.last.patrol.relocated); }},
      {"walks, sweeps",
       [](const P& p) {
         return Number(p.last.patrol.walks) + ", " + Number(p.last.patrol.sweeps);
       }},
      {"blocks found by sweeps",
       [](const P& p) { return Number(p.account.status.patrol.swept_blocks); }},
      {"patrol's share of one core",
       [](const P& p) {
         return Number(static_cast<double>(p.last.patrol.cpu_nanos) * 1e-7 / p.seconds, 2) + " %";
       }},
      {"records at the end", [](const P& p) { return Number(p.account.records); }},
      {"heap in use then, of which in larger blocks than needed",
       [](const P& p) {
         return Mebibytes(p.account.status.heap_used_bytes) + ", " +
                std::to_string(p.account.oversize_bytes()) + " bytes";
       }},
      {"**leaked blocks**", [](const P& p) { return std::to_string(p.account.leaked_blocks()); }},
      {"**violations**",
       [](const P& p) { return Number(p.fleet.violations.size() + p.load.violations); }},
      {"**undecided histories**", [](const P& p) { return Number(p.fleet.undecided.size()); }},
      {"**other faults**",
       [](const P& p) { return Number(p.faults.size() + p.account.faults.size()); }},
  };
  return *rows;
}

}  // namespace

std::string FiguresPage(const std::string& fabric, uint64_t seed, uint64_t memory_mib,
                        const std::vector<PhaseFigures>& phases) {
  std::string page = "# Soak, " + fabric + "\n\n" + "Memory " + std::to_string(memory_mib) +
                     " MiB, seed " + std::to_string(seed) + ".\n\n| |";
  for (const PhaseFigures& phase : phases) page += " " + phase.mode + " |";
  page += "\n|---|";
  for (size_t i = 0; i < phases.size(); ++i) page += "---:|";
  page += "\n";
  for (const Row& row : Rows()) {
    page += "| " + std::string(row.name) + " |";
    for (const PhaseFigures& phase : phases) page += " " + row.value(phase) + " |";
    page += "\n";
  }
  const std::vector<std::string> faults = Faults(phases);
  if (!faults.empty()) page += "\n## What went wrong\n";
  for (const std::string& fault : faults) page += "\n```\n" + fault + "\n```\n";
  return page;
}

std::vector<std::string> Faults(const std::vector<PhaseFigures>& phases) {
  std::vector<std::string> faults;
  for (const PhaseFigures& phase : phases) {
    for (const auto* list :
         {&phase.fleet.violations, &phase.fleet.undecided, &phase.faults, &phase.account.faults}) {
      for (const std::string& text : *list) faults.push_back(phase.mode + ": " + text);
    }
  }
  return faults;
}

}  // namespace dunlin::testing
