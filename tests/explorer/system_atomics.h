#pragma once

#include <string>

#include "common/fabric/atomic_agent.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {

// What the server changes words by in the explored system.
class System::Atomics final : public AtomicAgent {
 public:
  Atomics(System& system, uint32_t actor) : system_(system), actor_(actor) {}

  absl::StatusOr<uint64_t> CompareSwap(uint64_t address, uint64_t compare, uint64_t swap) override {
    const uint64_t found = system_.CompareSwap(actor_, address, compare, swap);
    swapped_ |= found == compare && system_.IsSeen(address);
    if (actor_ == kSplitter) {
      system_.Log([&] {
        return "splitter: CAS " + system_.AddressName(address) + " " +
               system_.WordName(address, compare) + " -> " + system_.WordName(address, swap);
      });
    }
    return found;
  }

  // Whether it changed a word that somebody looks at.
  bool swapped() const { return swapped_; }

 private:
  System& system_;
  const uint32_t actor_;
  bool swapped_ = false;
};

}  // namespace dunlin::explorer
