#include "client/kvctl/doctor/checks_counters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/checks.h"

namespace dunlin::kvctl {
namespace {

// A device's counters may be one folder's for each port, or one for the device (cxgb4), or both.
struct Folders {
  const RdmaDeviceFacts& device;
  const RdmaPortFacts& port;
  const RdmaDeviceFacts* device_before = nullptr;
  const RdmaPortFacts* port_before = nullptr;
};

Folders FoldersOf(const RdmaDeviceFacts& device, const RdmaPortFacts& port,
                  const HostFacts* before) {
  Folders folders{device, port};
  if (before == nullptr) return folders;
  for (const RdmaDeviceFacts& each : before->devices) {
    if (each.name != device.name) continue;
    folders.device_before = &each;
    for (const RdmaPortFacts& old : each.ports) {
      if (old.number == port.number) folders.port_before = &old;
    }
  }
  return folders;
}

CounterSight Look(const Folders& folders, std::initializer_list<CounterKind> kinds) {
  const RdmaPortFacts* port_before = folders.port_before;
  const RdmaDeviceFacts* device_before = folders.device_before;
  CounterSight sight = LookAtCounters(folders.port.path + "/hw_counters", folders.port.hw_counters,
                                      port_before == nullptr ? nullptr : &port_before->hw_counters,
                                      HardwareCounters(), kinds);
  Add(LookAtCounters(folders.device.path + "/hw_counters", folders.device.hw_counters,
                     device_before == nullptr ? nullptr : &device_before->hw_counters,
                     HardwareCounters(), kinds),
      &sight);
  return sight;
}

struct Wordings {
  const char* none;    // no counter of these kinds
  const char* calm;    // all are 0
  const char* past;    // some are not 0
  const char* rising;  // and rose meanwhile
};

Finding Judge(const char* check, const std::string& subject, CounterSight sight,
              const std::string& folder, const Wordings& words, Level when_rising, bool two_looks) {
  Finding finding{check, subject, Level::kOk, "", std::move(sight.evidence), ""};
  if (sight.shown == 0) {
    finding.level = Level::kNotShown;
    finding.text = words.none;
    finding.evidence.push_back({folder, "no such counter"});
  } else if (finding.evidence.empty()) {
    finding.text = words.calm;
    finding.evidence.push_back({folder, absl::StrCat(sight.shown, " of these counters, all 0")});
  } else if (sight.rising) {
    finding.level = when_rising;
    finding.text = words.rising;
  } else {
    finding.level = two_looks ? Level::kOk : Level::kWarning;
    finding.text = two_looks ? absl::StrCat(words.past, ", but not while this was watched")
                             : absl::StrCat(words.past, ", since the driver was loaded");
    if (!two_looks) finding.remedy = "see whether they rise: kvctl doctor --over 10s, under load";
  }
  return finding;
}

constexpr Wordings kLossWords = {"the driver shows no counters of loss", "no loss was counted",
                                 "packets were lost or came out of order",
                                 "packets are being lost or come out of order"};
constexpr char kLossRemedy[] =
    "look for drops on the switches' ports; on RoCEv2 make RDMA's priority lossless (findings "
    "\"pfc\", \"ecn\", \"traffic-class\"), the MTU equal on all ports, and see the wire's errors";

constexpr char kSoftLossRemedy[] =
    "a soft device's packets wait for the processor, and are sent again if that is busy for too "
    "long: give it more processors, or less load";

Finding Loss(const Folders& folders, const std::string& subject, bool two_looks) {
  CounterSight sight =
      Look(folders, {CounterKind::kLoss, CounterKind::kReceiver, CounterKind::kExceeded});
  const bool rising = sight.rising;
  const bool soft = folders.device.soft;
  Finding finding = Judge("loss", subject, std::move(sight), folders.port.path + "/hw_counters",
                          kLossWords, soft ? Level::kWarning : Level::kProblem, two_looks);
  if (rising) finding.remedy = soft ? kSoftLossRemedy : kLossRemedy;
  return finding;
}

constexpr Wordings kCongestionWords = {"the driver shows no counters of congestion",
                                       "no congestion was counted", "there was congestion",
                                       "there is congestion"};
constexpr char kCongestionRemedy[] =
    "normal in bursts; if it is lasting: spread the load, look for a slow receiver or a fan-in, "
    "and see that the switches mark before they drop";

Finding Congestion(const Folders& folders, const std::string& subject, bool two_looks) {
  CounterSight sight = Look(folders, {CounterKind::kCongestion});
  const bool rising = sight.rising;
  Finding finding =
      Judge("congestion", subject, std::move(sight), folders.port.path + "/hw_counters",
            kCongestionWords, Level::kWarning, two_looks);
  if (rising) finding.remedy = kCongestionRemedy;
  return finding;
}

// drivers/infiniband/core/cm.c: cm_tx_retries. The connection manager's messages, not the data's.
constexpr CounterMeaning kConnecting[] = {
    {"req", CounterKind::kLoss, "requests to connect sent again, unanswered"},
    {"rep", CounterKind::kLoss, "answers to them sent again"},
    {"dreq", CounterKind::kLoss, "requests to disconnect sent again"}};
constexpr Wordings kConnectingWords = {
    "the device shows no counters of connecting", "no request to connect was sent twice",
    "requests to connect went unanswered", "requests to connect go unanswered"};

Finding Connecting(const Folders& folders, const std::string& subject, bool two_looks) {
  const std::string folder = folders.port.path + "/cm_tx_retries";
  const RdmaPortFacts* old = folders.port_before;
  CounterSight sight =
      LookAtCounters(folder, folders.port.cm_retries, old == nullptr ? nullptr : &old->cm_retries,
                     kConnecting, {CounterKind::kLoss});
  Finding finding = Judge("connecting", subject, std::move(sight), folder, kConnectingWords,
                          Level::kWarning, two_looks);
  if (finding.level == Level::kWarning) {
    finding.remedy =
        "peers that died leave such counts. If they rise: is the peer's address that of "
        "an RDMA port, does a firewall pass UDP 4791, do both ends use one RoCE version?";
  }
  return finding;
}

// A soft iWARP device's connections are ordinary sockets: the host's counts are all there is.
void AddHostTcp(const HostFacts& now, const HostFacts* before, CounterSight* sight) {
  if (!now.tcp.retransmitted || !now.tcp.sent) return;
  Counters counters = {{"RetransSegs", *now.tcp.retransmitted}};
  Counters old;
  if (before != nullptr && before->tcp.retransmitted) {
    old = {{"RetransSegs", *before->tcp.retransmitted}};
  }
  constexpr CounterMeaning kTable[] = {
      {"RetransSegs", CounterKind::kRetransmit, "TCP segments sent again, by the whole host"}};
  Add(LookAtCounters("/proc/net/snmp: Tcp", counters, before == nullptr ? nullptr : &old, kTable,
                     {CounterKind::kRetransmit}),
      sight);
  if (sight->any()) {
    sight->evidence.push_back({"/proc/net/snmp: Tcp/OutSegs", absl::StrCat(*now.tcp.sent)});
  }
}

constexpr Wordings kRetransmitWords = {"the driver shows no retransmissions",
                                       "nothing was sent again", "TCP sent segments again",
                                       "TCP is sending segments again"};

Finding Retransmissions(const HostFacts& now, const HostFacts* before, const Folders& folders,
                        const std::string& subject) {
  CounterSight sight = Look(folders, {CounterKind::kRetransmit});
  const bool of_the_host = sight.shown == 0;
  if (of_the_host) AddHostTcp(now, before, &sight);
  const bool rising = sight.rising;
  Finding finding = Judge("retransmissions", subject, std::move(sight),
                          of_the_host ? "/proc/net/snmp: Tcp" : folders.device.path,
                          kRetransmitWords, Level::kWarning, before != nullptr);
  if (of_the_host && finding.level != Level::kNotShown) {
    // All of the host's connections are counted here; some loss on one of them is no finding.
    if (finding.level == Level::kWarning && !rising) {
      finding.level = Level::kOk;
      finding.text = "TCP sent segments again, on whatever connection";
      finding.remedy.clear();
    }
    absl::StrAppend(&finding.text, " (the device has no counters: these are the whole host's)");
  }
  if (rising) finding.remedy = "look for drops on the switches' ports and for errors on the wire";
  return finding;
}

}  // namespace

CounterSight LookAtCounters(const std::string& folder, const Counters& now, const Counters* before,
                            std::span<const CounterMeaning> table,
                            std::initializer_list<CounterKind> kinds) {
  CounterSight sight;
  for (const CounterMeaning& meaning : table) {
    if (std::find(kinds.begin(), kinds.end(), meaning.kind) == kinds.end()) continue;
    const auto found = now.find(meaning.name);
    if (found == now.end()) continue;
    ++sight.shown;
    if (found->second == 0) continue;
    std::string value = absl::StrCat(found->second, " ", meaning.meaning);
    if (before != nullptr) {
      const auto old = before->find(meaning.name);
      const uint64_t base = old == before->end() ? 0 : old->second;
      const uint64_t rise = found->second > base ? found->second - base : 0;
      absl::StrAppend(&value, ", ", rise, " more meanwhile");
      sight.rising |= rise > 0;
    }
    sight.evidence.push_back({absl::StrCat(folder, "/", meaning.name), std::move(value)});
  }
  return sight;
}

void Add(const CounterSight& more, CounterSight* sight) {
  sight->evidence.insert(sight->evidence.end(), more.evidence.begin(), more.evidence.end());
  sight->shown += more.shown;
  sight->rising |= more.rising;
}

Findings CheckCounters(const HostFacts& now, const HostFacts* before) {
  Findings findings;
  for (const RdmaDeviceFacts& device : now.devices) {
    for (const RdmaPortFacts& port : device.ports) {
      const Folders folders = FoldersOf(device, port, before);
      const std::string subject = PortName(device, port);
      if (device.iwarp) {
        findings.push_back(Retransmissions(now, before, folders, subject));
        continue;
      }
      findings.push_back(Connecting(folders, subject, before != nullptr));
      findings.push_back(Loss(folders, subject, before != nullptr));
      if (IsRoce(device, port)) {
        findings.push_back(Congestion(folders, subject, before != nullptr));
      }
    }
  }
  return findings;
}

}  // namespace dunlin::kvctl
