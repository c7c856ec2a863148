#pragma once

#include <span>

namespace dunlin::kvctl {

enum class CounterKind {
  kLoss,        // a packet was lost, or came in the wrong order
  kReceiver,    // the receiver wasn't ready
  kExceeded,    // the adapter gave a connection up
  kCongestion,  // congestion was marked, or answered
  kRetransmit,  // TCP of an iWARP adapter sent something again
  kWire,        // the link lost or broke bits
  kDiscard,     // dropped for want of room
};

// A counter that tells of trouble, by the name that its driver gives it.
struct CounterMeaning {
  const char* name;
  CounterKind kind;
  const char* meaning;
};

// Those of ports/N/hw_counters (and of the device's hw_counters), of all drivers that are known.
std::span<const CounterMeaning> HardwareCounters();

// Those of ports/N/counters, which every InfiniBand and many RoCE drivers have.
std::span<const CounterMeaning> PortCounters();

}  // namespace dunlin::kvctl
