#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/layout/word.h"

namespace dunlin {

// Tells whether this process is a child, by fork(), of the one that made the guard. A word on a
// page that the kernel wipes in the child: no system call, one load. Thread safe.
class ForkGuard {
 public:
  static absl::StatusOr<std::shared_ptr<ForkGuard>> Create();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  bool InChild() const { return LoadWordRelaxed(word_) == 0; }

 private:
  explicit ForkGuard(uint64_t* word) : word_(word) {}

  uint64_t* const word_;
};

}  // namespace dunlin
