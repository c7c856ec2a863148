#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/kvctl/doctor/checks.h"
#include "client/kvctl/doctor/checks_counters.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvctl {
namespace {

// ethtool's statistics of the wire that mlx5 gives; others' names differ, and are then not shown.
constexpr CounterMeaning kEthernet[] = {
    {"rx_symbol_err_phy", CounterKind::kWire, "errors on one or more lanes"},
    {"rx_crc_errors_phy", CounterKind::kWire, "frames with a wrong checksum"},
    {"rx_pcs_symbol_err_phy", CounterKind::kWire, "symbols that FEC did not correct"},
    {"link_down_events_phy", CounterKind::kWire, "times the link went down"},
    {"rx_discards_phy", CounterKind::kDiscard, "frames dropped on the way in, for want of room"},
    {"tx_discards_phy", CounterKind::kDiscard, "frames dropped on the way out"},
};

const RdmaPortFacts* SamePort(const HostFacts* facts, const RdmaPortFacts& port) {
  if (facts == nullptr) return nullptr;
  for (const RdmaDeviceFacts& device : facts->devices) {
    for (const RdmaPortFacts& each : device.ports) {
      if (each.path == port.path) return &each;
    }
  }
  return nullptr;
}

void AddEthernet(const HostFacts& now, const HostFacts* before, const RdmaPortFacts& port,
                 std::initializer_list<CounterKind> kinds, CounterSight* sight) {
  const NetdevFacts* netdev = now.NetdevOf(port);
  if (netdev == nullptr || !netdev->link.statistics.ok()) return;
  const NetdevFacts* old = before == nullptr ? nullptr : before->NetdevOf(port);
  const bool has_old = old != nullptr && old->link.statistics.ok();
  Add(LookAtCounters(absl::StrCat("ethtool -S ", netdev->name), *netdev->link.statistics,
                     has_old ? &*old->link.statistics : nullptr, kEthernet, kinds),
      sight);
}

constexpr char kWireRemedy[] =
    "clean or change the cable or module, reseat it, and see that both ends have the same speed "
    "and FEC; a link that was unplugged counts too";

Finding Wire(const HostFacts& now, const HostFacts* before, const RdmaDeviceFacts& device,
             const RdmaPortFacts& port) {
  const auto kinds = {CounterKind::kWire, CounterKind::kDiscard};
  const RdmaPortFacts* old = SamePort(before, port);
  const std::string folder = port.path + "/counters";
  CounterSight sight =
      LookAtCounters(folder, port.counters, old ? &old->counters : nullptr, PortCounters(), kinds);
  Add(LookAtCounters(port.path + "/hw_counters", port.hw_counters,
                     old ? &old->hw_counters : nullptr, HardwareCounters(), kinds),
      &sight);
  AddEthernet(now, before, port, kinds, &sight);
  Finding finding{
      "errors-on-the-wire", PortName(device, port), Level::kOk, "", std::move(sight.evidence), ""};
  if (sight.shown == 0) {
    finding.level = Level::kNotShown;
    finding.text = device.soft ? "a soft device has no wire of its own"
                               : "the driver shows no counters of the wire";
    finding.evidence.push_back({folder, "missing, or no such counter"});
  } else if (finding.evidence.empty()) {
    finding.text = "the wire is clean";
    finding.evidence.push_back(
        {port.path + "/{,hw_}counters", absl::StrCat(sight.shown, " counters of errors, all 0")});
  } else if (sight.rising) {
    finding.level = Level::kProblem;
    finding.text = "the wire is making errors";
    finding.remedy = kWireRemedy;
  } else if (before != nullptr) {
    finding.text = "the wire made errors, but not while this was watched";
  } else {
    finding.level = Level::kWarning;
    finding.text = "the wire made errors since the counters were cleared";
    finding.remedy =
        absl::StrCat("see whether they rise: kvctl doctor --over 10s; if so, ", kWireRemedy);
  }
  return finding;
}

Finding Fec(const NetdevFacts& netdev) {
  constexpr uint64_t kNeedsFec = 25'000;  // Mbit/s: from here on links count on it
  Finding finding{"fec", netdev.name, Level::kOk, "", {}, ""};
  const std::string source = "ETHTOOL_GFECPARAM(" + netdev.name + ")";
  const std::string speed =
      netdev.megabits ? absl::StrCat(*netdev.megabits, " Mbit/s") : "(not shown)";
  if (!netdev.link.fec.ok()) {
    finding.level = Level::kNotShown;
    finding.text = "the driver doesn't tell about forward error correction";
    finding.evidence.push_back({source, std::string(FromAbsl(netdev.link.fec.status().message()))});
    return finding;
  }
  finding.evidence = {{source, *netdev.link.fec}, {netdev.path + "/speed", speed}};
  if (*netdev.link.fec == "off" && netdev.megabits && *netdev.megabits >= kNeedsFec) {
    finding.level = Level::kWarning;
    finding.text = "forward error correction is off, at a speed that counts on it";
    finding.remedy = absl::StrCat("ethtool --set-fec ", netdev.name, " encoding rs, on both ends");
  } else {
    finding.text = absl::StrCat("forward error correction: ", *netdev.link.fec);
  }
  return finding;
}

std::string Degrees(double celsius) { return absl::StrCat(FormatFixed(celsius, 1), " C"); }

std::string Microwatts(const std::vector<double>& lanes) {
  return absl::StrJoin(
             lanes, ", ",
             [](std::string* out, double power) { absl::StrAppend(out, FormatFixed(power, 0)); }) +
         " uW";
}

void JudgeLight(const ModuleReadings& readings, Finding* finding) {
  if (readings.receive_microwatts.empty()) return;
  const double least =
      *std::min_element(readings.receive_microwatts.begin(), readings.receive_microwatts.end());
  const bool alarm = readings.receive_low_alarm && least < *readings.receive_low_alarm;
  const bool warning = readings.receive_low_warning && least < *readings.receive_low_warning;
  if (!alarm && !warning) return;
  finding->level = std::max(finding->level, alarm ? Level::kProblem : Level::kWarning);
  finding->text = absl::StrCat("a lane receives too little light: ", FormatFixed(least, 0), " uW");
  finding->remedy =
      "clean the connectors, check the fibre's bends and length, and the other end's "
      "transmitter";
}

void JudgeHeat(const ModuleReadings& readings, Finding* finding) {
  if (!readings.celsius) return;
  const bool alarm = readings.celsius_alarm && *readings.celsius >= *readings.celsius_alarm;
  const bool warning = readings.celsius_warning && *readings.celsius >= *readings.celsius_warning;
  if (!alarm && !warning) return;
  finding->level = alarm ? Level::kProblem : Level::kWarning;
  finding->text = absl::StrCat("the module is too hot: ", Degrees(*readings.celsius));
  finding->remedy = "airflow, fans, a module of less power";
}

Finding Module(const NetdevFacts& netdev) {
  Finding finding{"module", netdev.name, Level::kOk, "", {}, ""};
  const std::string source = "ETHTOOL_GMODULEEEPROM(" + netdev.name + ")";
  if (!netdev.link.module.ok()) {
    finding.level = Level::kNotShown;
    finding.text = "the module tells no temperature and no power, or not to this process";
    finding.evidence.push_back(
        {source, std::string(FromAbsl(netdev.link.module.status().message()))});
    return finding;
  }
  const ModuleReadings& readings = *netdev.link.module;
  if (readings.celsius) finding.evidence.push_back({source, Degrees(*readings.celsius)});
  if (!readings.receive_microwatts.empty()) {
    finding.evidence.push_back({source, "receives " + Microwatts(readings.receive_microwatts)});
    finding.evidence.push_back({source, "transmits " + Microwatts(readings.transmit_microwatts)});
  }
  finding.text = "temperature and light are within the module's limits";
  if (!readings.celsius_warning && !readings.receive_low_warning) {
    finding.text = "the module tells its readings, but no limits";
  }
  JudgeHeat(readings, &finding);
  JudgeLight(readings, &finding);
  return finding;
}

Findings Sensors(const RdmaDeviceFacts& device) {
  if (device.sensors.empty()) return {};
  Finding finding{"temperature", device.name, Level::kOk, "within the sensors' limits", {}, ""};
  for (const SensorFacts& sensor : device.sensors) {
    if (!sensor.celsius) continue;
    std::string value = absl::StrCat(Shown(sensor.label), " ", Degrees(*sensor.celsius));
    if (sensor.limit) absl::StrAppend(&value, ", limit ", Degrees(*sensor.limit));
    finding.evidence.push_back({sensor.path, std::move(value)});
    if (!sensor.limit || *sensor.celsius < *sensor.limit) continue;
    finding.level = Level::kProblem;
    finding.text = absl::StrCat("too hot: ", Shown(sensor.label), " ", Degrees(*sensor.celsius));
    finding.remedy = "airflow, fans; a hot adapter slows down or drops its link";
  }
  return {finding};
}

}  // namespace

Findings CheckPhysical(const HostFacts& now, const HostFacts* before) {
  Findings findings;
  for (const RdmaDeviceFacts& device : now.devices) {
    for (const RdmaPortFacts& port : device.ports) {
      findings.push_back(Wire(now, before, device, port));
      const NetdevFacts* netdev = now.NetdevOf(port);
      if (netdev == nullptr || device.soft) continue;
      if (!netdev->ipoib) findings.push_back(Fec(*netdev));
      findings.push_back(Module(*netdev));
    }
    for (Finding& finding : Sensors(device)) findings.push_back(std::move(finding));
  }
  return findings;
}

Findings CheckHost(const HostFacts& now, const HostFacts* before) {
  Findings all;
  for (Findings& part :
       std::vector<Findings>{CheckAccess(now), CheckPorts(now), CheckGids(now), CheckMtu(now),
                             CheckLimits(now), CheckMemory(now), CheckLossless(now),
                             CheckCounters(now, before), CheckPhysical(now, before)}) {
    for (Finding& finding : part) all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace dunlin::kvctl
