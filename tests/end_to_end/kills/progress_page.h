#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "common/base/unique_fd.h"

namespace dunlin::testing {

// A page that a writer and who kills it both map: how far the writer is.
class ProgressPage {
 public:
  explicit ProgressPage(const std::string& file) {
    UniqueFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (fd.get() < 0 || ftruncate(fd.get(), kBytes) != 0) return;
    void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at != MAP_FAILED) writes_ = static_cast<uint64_t*>(at);
  }
  ~ProgressPage() {
    if (writes_ != nullptr) munmap(writes_, kBytes);
  }
  ProgressPage(const ProgressPage&) = delete;
  ProgressPage& operator=(const ProgressPage&) = delete;

  bool ok() const { return writes_ != nullptr; }
  uint64_t writes() const { return __atomic_load_n(writes_, __ATOMIC_ACQUIRE); }
  void set_writes(uint64_t writes) { __atomic_store_n(writes_, writes, __ATOMIC_RELEASE); }

 private:
  static constexpr size_t kBytes = 4096;
  uint64_t* writes_ = nullptr;
};

}  // namespace dunlin::testing
