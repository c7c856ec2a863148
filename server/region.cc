#include "server/region.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/available_memory.h"
#include "server/region_plan.h"
#include "server/region_view.h"

namespace dunlin {
namespace {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
constexpr long kHugetlbfsMagic = 0x958458f6;
constexpr const char* kHugePageCounts = "/sys/kernel/mm/hugepages/hugepages-2048kB/";

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

absl::Status Errno(int error, const std::string& what) {
  return absl::ErrnoToStatus(error, ToAbsl(what));
}

uint64_t HugePageCount(const char* which) {
  std::ifstream file(std::string(kHugePageCounts) + which);
  uint64_t pages = 0;
  return file >> pages ? pages : 0;
}

// Those that are promised to somebody who has not touched them yet are free in name only.
uint64_t FreeHugePages() {
  const uint64_t free = HugePageCount("free_hugepages");
  const uint64_t promised = HugePageCount("resv_hugepages");
  return free > promised ? free - promised : 0;
}

// Whether the pages can be had: mapping them reserves them, for good.
bool ReserveHugePages(int fd, uint64_t bytes) {
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return false;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return false;
  munmap(base, bytes);
  return true;
}

std::string HugePageRemedy(uint64_t pages) {
  return "sysctl vm.nr_hugepages=" + std::to_string(pages) +
         " provides them (more, if other programs use huge pages too)";
}

// Free on the file system of `fd`.
uint64_t FreeInFileSystem(int fd) {
  struct statfs fs {};
  if (fstatfs(fd, &fs) != 0) return 0;
  return static_cast<uint64_t>(fs.f_bavail) * static_cast<uint64_t>(fs.f_bsize);
}

// Pieces in which memory is taken, looking each time at what is left. As much again is left over.
constexpr uint64_t kFillStep = uint64_t{256} << 20;

}  // namespace

Region::~Region() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

absl::Status Region::OpenHugeMemfd(const ServerOptions& o, Logger& logger) {
  uint64_t wanted = RoundUp(o.memory, kHugePageBytes) / kHugePageBytes;
  uint64_t free = FreeHugePages();
  std::string why;
  if (free < wanted) {
    why = std::to_string(wanted) + " huge pages of 2 MiB wanted, " + std::to_string(free) + " free";
  } else {
    fd_.Reset(memfd_create(
        "dunlin-region", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | (21u << MFD_HUGE_SHIFT)));
    if (fd_.valid() && ReserveHugePages(fd_.get(), wanted * kHugePageBytes)) {
      huge_pages_ = true;
      page_bytes_ = kHugePageBytes;
      return absl::OkStatus();
    }
    why = "the system refuses huge pages: " + std::string(strerror(errno));
    fd_.Reset();
  }
  if (o.huge() == HugePages::kAlways) {
    return absl::ResourceExhaustedError("huge-pages: " + why + "; " + HugePageRemedy(wanted));
  }
  logger.Warning("running on 4 KiB pages, which costs about a third of the speed: " + why + "; " +
                 HugePageRemedy(wanted));
  return absl::OkStatus();
}

absl::Status Region::OpenFile(const ServerOptions& o) {
  fd_.Reset(open(o.region_dir.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd_.valid()) {
    return Errno(errno, "region-dir: cannot create the region in '" + o.region_dir +
                            "' (it must be a directory on a tmpfs or hugetlbfs)");
  }
  struct statfs fs {};
  if (fstatfs(fd_.get(), &fs) == 0 && fs.f_type == kHugetlbfsMagic) {
    huge_pages_ = true;
    page_bytes_ = static_cast<uint64_t>(fs.f_bsize);
  }
  return absl::OkStatus();
}

absl::Status Region::OpenMemory(const ServerOptions& o, Logger& logger) {
  if (!o.region_dir.empty()) return OpenFile(o);
  if (o.huge() != HugePages::kNever) DUNLIN_RETURN_IF_ERROR(OpenHugeMemfd(o, logger));
  if (!fd_.valid()) fd_.Reset(memfd_create("dunlin-region", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_.valid()) return Errno(errno, "cannot create the region (memfd_create)");
  return absl::OkStatus();
}

absl::Status Region::Map(const ServerOptions& o) {
  bytes_ = RoundUp(o.memory, page_bytes_);
  if (ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) {
    return Errno(errno, "cannot make the region " + FormatRoundedSize(bytes_) + " long");
  }
  void* base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (base == MAP_FAILED) {
    return Errno(errno, "cannot map the region of " + FormatRoundedSize(bytes_));
  }
  base_ = static_cast<std::byte*>(base);
  return absl::OkStatus();
}

// Before Fill: the policy of the shared object decides where its pages come from.
absl::Status Region::Bind(const ServerOptions& o) {
  if (o.numa_node < 0) return absl::OkStatus();
  constexpr size_t kBits = sizeof(unsigned long) * 8;
  std::array<unsigned long, 1024 / kBits> nodes{};
  nodes[static_cast<size_t>(o.numa_node) / kBits] = 1UL
                                                    << (static_cast<size_t>(o.numa_node) % kBits);
  if (mbind(base_, bytes_, MPOL_BIND, nodes.data(), 1024, 0) != 0) {
    return Errno(errno, "numa-node: cannot take memory from node " + std::to_string(o.numa_node) +
                            " (numactl --hardware lists the nodes)");
  }
  numa_ = "node " + std::to_string(o.numa_node);
  return absl::OkStatus();
}

// What was wanted, what there is, and the remedy. `error`: of the system, or 0.
absl::Status Region::NoRoom(const ServerOptions& o, uint64_t free, int error) const {
  std::string remedy = "lower memory, or free some";
  std::string where = "the machine";
  if (huge_pages_) {
    remedy = "lower memory, or " + HugePageRemedy(bytes_ / page_bytes_);
    where = "the huge pages";
  } else if (error != 0 && !o.region_dir.empty()) {
    remedy = "lower memory, or enlarge it: mount -o remount,size=N " + o.region_dir;
    where = "region-dir '" + o.region_dir + "'";
  }
  return absl::ResourceExhaustedError(
      "memory: wanted " + FormatRoundedSize(bytes_) + ", but " + where + " had only " +
      FormatRoundedSize(free) + " available" +
      (error != 0 ? " (" + std::string(strerror(error)) + ")" : "") + "; " + remedy);
}

absl::Status Region::Fill(const ServerOptions& o) {
  uint64_t free = o.region_dir.empty() ? AvailableMemory() : FreeInFileSystem(fd_.get());
  FirstToBeKilled until_filled;
  for (uint64_t at = 0; at < bytes_;) {
    uint64_t step = std::min(kFillStep, bytes_ - at);
    // Huge pages are set aside: running out of them is an error, no more.
    if (!huge_pages_ && AvailableMemory() < bytes_ - at + std::min(kFillStep, bytes_)) {
      return NoRoom(o, at + AvailableMemory(), 0);
    }
    if (fallocate(fd_.get(), 0, static_cast<off_t>(at), static_cast<off_t>(step)) == 0) {
      at += step;
    } else if (errno != EINTR) {
      return NoRoom(o, free, errno);
    }
  }
  return absl::OkStatus();
}

absl::Status Region::Lock() {
  rlimit limit{};
  if (geteuid() != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < bytes_) {
    return absl::ResourceExhaustedError(
        "lock-memory: " + FormatRoundedSize(bytes_) + " are to be locked, but the limit is " +
        FormatRoundedSize(limit.rlim_cur) +
        " (RLIMIT_MEMLOCK); raise it (ulimit -l unlimited, or LimitMEMLOCK=infinity in the systemd "
        "unit) or leave lock-memory off");
  }
  if (mlock(base_, bytes_) != 0) {
    return Errno(errno, "lock-memory: cannot lock " + FormatRoundedSize(bytes_) +
                            " (a process without CAP_IPC_LOCK needs ulimit -l)");
  }
  return absl::OkStatus();
}

absl::Status Region::Protect(const ServerOptions& o) {
  // A memfd is born with mode 0777: who was given the read-only descriptor could open it again for
  // writing through /proc.
  if (fchmod(fd_.get(), 0600) != 0) return Errno(errno, "cannot set the region's mode");
  if (o.region_dir.empty() &&
      fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Errno(errno, "cannot seal the region's length");
  }
  std::string path = "/proc/self/fd/" + std::to_string(fd_.get());
  read_only_fd_.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!read_only_fd_.valid()) {
    return Errno(errno, "cannot open the region again for reading (is /proc mounted?)");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Region>> Region::Create(const ServerOptions& options,
                                                       bool max_value_is_default, Logger& logger,
                                                       std::optional<uint64_t> hash_seed) {
  std::unique_ptr<Region> region(new Region());
  RegionSeed seed;
  seed.max_value_is_default = max_value_is_default;
  // Before the memory is taken: what can't be laid out fails at once.
  DUNLIN_RETURN_IF_ERROR(PlanRegion(options, seed));
  DUNLIN_RETURN_IF_ERROR(region->OpenMemory(options, logger));
  DUNLIN_RETURN_IF_ERROR(region->Map(options));
  DUNLIN_RETURN_IF_ERROR(region->Bind(options));
  DUNLIN_RETURN_IF_ERROR(region->Fill(options));
  if (options.lock_memory) DUNLIN_RETURN_IF_ERROR(region->Lock());
  DUNLIN_RETURN_IF_ERROR(region->Protect(options));

  uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    return Errno(errno, "cannot get random bytes");
  }
  seed.hash_seed = hash_seed.value_or(random[0]);
  seed.incarnation = random[1];
  seed.page_bytes = region->page_bytes_;
  DUNLIN_ASSIGN_OR_RETURN(region->plan_, PlanRegion(options, seed));
  FormatRegion(region->base_, region->plan_);
  return region;
}

}  // namespace dunlin
