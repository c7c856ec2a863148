#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "common/fabric/fabric.h"

namespace dunlin {

// One-sided verbs on a mapping of the region. Post only prefetches the lines that the chain will
// touch; Poll carries the chains out, in the order of their posting. So a thread that posts several
// chains before it polls overlaps their cache misses.
//
// A READ by reference points into the mapping. The atomic domain is the CPU's.
class ShmChannel final : public Channel {
 public:
  static constexpr uint32_t kDepth = 64;

  // `base` is a mapping of `bytes` bytes that outlives the channel; writable unless `read_only`.
  ShmChannel(std::byte* base, uint64_t bytes, bool read_only);

  void Post(Chain* chain) override;
  uint32_t Poll(Chain** finished, uint32_t max) override;
  void WaitFor(int64_t) override {}
  const std::byte* mapping() const override { return base_; }
  uint32_t depth() const override { return kDepth; }
  const absl::Status& broken() const override { return broken_; }
  void Break(absl::Status why) override { broken_.Update(std::move(why)); }

 private:
  std::byte* const base_;
  const uint64_t bytes_;
  const bool read_only_;
  absl::Status broken_;
  std::array<Chain*, kDepth> posted_{};
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
};

}  // namespace dunlin
