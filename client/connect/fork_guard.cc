#include "client/connect/fork_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "common/base/status.h"

namespace dunlin {
namespace {

size_t PageBytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

absl::Status Failure(const char* call, int error) {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    std::string("a page that tells a forked child from its parent: ") + call +
                        ": " + std::generic_category().message(error));
}

}  // namespace

absl::StatusOr<std::shared_ptr<ForkGuard>> ForkGuard::Create() {
  void* page =
      ::mmap(nullptr, PageBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Failure("mmap", errno);
  std::shared_ptr<ForkGuard> guard(new ForkGuard(static_cast<uint64_t*>(page)));
  if (::madvise(page, PageBytes(), MADV_WIPEONFORK) != 0) return Failure("madvise", errno);
  *guard->word_ = 1;
  return guard;
}

ForkGuard::~ForkGuard() { ::munmap(word_, PageBytes()); }

}  // namespace dunlin
