#include "client/connect/mapped_region.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

absl::Status Refused(absl::StatusCode code, std::string_view why) {
  return MakeStatus(code, "the server's region can't be used: " + std::string(why));
}

absl::Status MapFailure(const char* call, uint64_t bytes, int error) {
  const std::string text = std::string(call) + " of " + std::to_string(bytes) +
                           " bytes: " + std::generic_category().message(error);
  if (error == EACCES || error == EPERM) {
    return Refused(absl::StatusCode::kPermissionDenied,
                   text + "; the server gave a read-only descriptor: open a read-only session");
  }
  if (error == ENOMEM || error == EAGAIN) {
    return Refused(absl::StatusCode::kResourceExhausted,
                   text +
                       "; the limits on address space (ulimit -v) and locked memory (ulimit -l) "
                       "must allow for the region");
  }
  return Refused(absl::StatusCode::kFailedPrecondition, text);
}

absl::StatusOr<uint64_t> SizeOf(const UniqueFd& descriptor) {
  struct stat about {};
  if (::fstat(descriptor.get(), &about) != 0) {
    return Refused(absl::StatusCode::kFailedPrecondition,
                   "fstat: " + std::generic_category().message(errno));
  }
  const auto bytes = static_cast<uint64_t>(about.st_size);
  if (!S_ISREG(about.st_mode) || about.st_size < 0 || bytes < kSuperblockBytes) {
    return Refused(absl::StatusCode::kFailedPrecondition,
                   "expected a memory file of at least " + std::to_string(kSuperblockBytes) +
                       " bytes, found " + std::to_string(bytes) + " bytes of mode " +
                       std::to_string(about.st_mode));
  }
  return bytes;
}

// Unmaps on the way out of a function that fails.
class Mapping {
 public:
  Mapping(void* base, uint64_t bytes) : base_(base), bytes_(bytes) {}
  ~Mapping() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
  }
  std::byte* base() const { return static_cast<std::byte*>(base_); }
  void Release() { base_ = nullptr; }

 private:
  void* base_;
  uint64_t bytes_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<MappedRegion>> MappedRegion::Map(const UniqueFd& descriptor,
                                                                bool read_only,
                                                                uint64_t incarnation,
                                                                std::shared_ptr<ForkGuard> guard) {
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t bytes, SizeOf(descriptor));
  const int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* base = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor.get(), 0);
  if (base == MAP_FAILED) return MapFailure("mmap", bytes, errno);
  Mapping mapping(base, bytes);
  // A child that went on with it would be a second owner of the session's locks and blocks.
  if (::madvise(base, bytes, MADV_DONTFORK) != 0) return MapFailure("madvise", bytes, errno);
  Superblock constants;
  std::memcpy(&constants, base, sizeof constants);
  if (const std::string why = WhyNotUsable(constants, bytes); !why.empty()) {
    return Refused(absl::StatusCode::kFailedPrecondition, why);
  }
  if (constants.incarnation != incarnation) {
    return Refused(absl::StatusCode::kFailedPrecondition,
                   "incarnation: expected " + std::to_string(incarnation) +
                       " from the server's welcome, found " +
                       std::to_string(constants.incarnation));
  }
  std::shared_ptr<MappedRegion> region(
      new MappedRegion(mapping.base(), bytes, read_only, constants, std::move(guard)));
  mapping.Release();
  return region;
}

MappedRegion::MappedRegion(std::byte* base, uint64_t mapped_bytes, bool read_only,
                           const Superblock& constants, std::shared_ptr<ForkGuard> guard)
    : base_(base),
      mapped_bytes_(mapped_bytes),
      read_only_(read_only),
      constants_(constants),
      geometry_(Geometry::Of(constants_)),
      guard_(std::move(guard)) {}

void MappedRegion::ReadWords(uint64_t offset, std::span<std::byte> to) const {
  for (size_t at = 0; at < to.size(); at += kWordBytes) {
    SetPlainWord(to.data() + at, LoadWord(base_ + offset + at));
  }
}

MappedRegion::~MappedRegion() {
  // A child never had the mapping; something else may lie there.
  if (!guard_->InChild()) ::munmap(base_, mapped_bytes_);
}

}  // namespace dunlin
