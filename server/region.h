#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/layout/superblock.h"
#include "server/options.h"

namespace dunlin {

// The memory that the server and its clients share: a descriptor to hand out and a mapping of it,
// formatted. All of it is backed by pages from the start, so that lack of memory is an error of
// Create and never a SIGBUS later.
class Region {
 public:
  // `hash_seed`: what keys are hashed with; else it is drawn. Every failure says what was wanted,
  // what there is, and what to do. REQUIRES: CheckOptions is OK.
  static absl::StatusOr<std::unique_ptr<Region>> Create(const ServerOptions& options,
                                                        bool max_value_is_default, Logger& logger,
                                                        std::optional<uint64_t> hash_seed = {});
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::byte* base() const { return base_; }
  const Superblock& plan() const { return plan_; }  // as it was formatted
  int fd() const { return fd_.get(); }
  // Another open file of the same memory that refuses a writable mapping.
  int read_only_fd() const { return read_only_fd_.get(); }
  bool huge_pages() const { return huge_pages_; }
  const std::string& numa() const { return numa_; }  // for people

 private:
  Region() = default;
  absl::Status OpenMemory(const ServerOptions& options, Logger& logger);
  absl::Status OpenHugeMemfd(const ServerOptions& options, Logger& logger);
  absl::Status OpenFile(const ServerOptions& options);
  absl::Status Map(const ServerOptions& options);
  absl::Status Bind(const ServerOptions& options);
  absl::Status Fill(const ServerOptions& options);
  absl::Status NoRoom(const ServerOptions& options, uint64_t free, int error) const;
  absl::Status Lock();
  absl::Status Protect(const ServerOptions& options);

  UniqueFd fd_;
  UniqueFd read_only_fd_;
  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t page_bytes_ = 4096;
  bool huge_pages_ = false;
  std::string numa_ = "any node";
  Superblock plan_{};
};

}  // namespace dunlin
