#include "tests/linearizability/recording.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/clock.h"
#include "common/base/unique_fd.h"

namespace dunlin::testing {
namespace {

absl::Status Failed(const std::string& file, const char* what) {
  return absl::InternalError(file + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Recording>> Recording::Open(const std::string& file,
                                                           uint64_t capacity) {
  const bool fresh = capacity != 0;
  UniqueFd fd(open(file.c_str(), O_RDWR | O_CLOEXEC | (fresh ? O_CREAT | O_TRUNC : 0), 0600));
  if (fd.get() < 0) return Failed(file, "open");
  if (!fresh) {
    RecordingHeader header;
    if (read(fd.get(), &header, sizeof header) != sizeof header) return Failed(file, "read");
    capacity = header.capacity;
  }
  auto recording = std::unique_ptr<Recording>(new Recording());
  recording->mapped_ = sizeof(RecordingHeader) + capacity * sizeof(Entry);
  if (fresh && ftruncate(fd.get(), static_cast<off_t>(recording->mapped_)) != 0) {
    return Failed(file, "ftruncate");
  }
  void* at = mmap(nullptr, recording->mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return Failed(file, "mmap");
  recording->header_ = static_cast<RecordingHeader*>(at);
  recording->entries_ = reinterpret_cast<Entry*>(recording->header_ + 1);
  if (fresh) recording->header_->capacity = capacity;
  return recording;
}

Recording::~Recording() {
  if (header_ != nullptr) munmap(header_, mapped_);
}

uint64_t Recording::Begin(uint32_t key, const linearizability::Operation& operation) {
  Entry& entry = entries_[next_];
  entry.key = key;
  entry.operation = operation;
  entry.operation.answer = linearizability::Answer::kUnknown;
  entry.operation.responded = linearizability::kNever;
  entry.operation.invoked = SystemClock().NowNanos();
  __atomic_store_n(&entry.state, Entry::kInvoked, __ATOMIC_RELEASE);
  return next_++;
}

// The answer becomes valid by its state; until then the entry says "unknown".
void Recording::End(uint64_t number, const linearizability::Operation& operation,
                    const Wait& wait) {
  const int64_t now = SystemClock().NowNanos();
  Entry& entry = entries_[number];
  const int64_t invoked = entry.operation.invoked;
  entry.operation = operation;
  entry.operation.invoked = invoked;
  entry.operation.responded = now;
  entry.waited = wait.waited;
  entry.unscheduled = wait.unscheduled;
  __atomic_store_n(&entry.state, Entry::kAnswered, __ATOMIC_RELEASE);
}

std::span<const Entry> Recording::entries() const {
  uint64_t count = 0;
  while (count < header_->capacity &&
         __atomic_load_n(&entries_[count].state, __ATOMIC_ACQUIRE) != Entry::kEmpty) {
    ++count;
  }
  return {entries_, count};
}

void Recording::AppendTo(
    std::map<uint32_t, std::vector<linearizability::Operation>>* by_key) const {
  for (const Entry& entry : entries()) {
    const uint32_t state = entry.state;
    linearizability::Operation operation = entry.operation;
    // The client died while it wrote the answer down: part of it may be there.
    if (state == Entry::kInvoked) {
      operation.answer = linearizability::Answer::kUnknown;
      operation.responded = linearizability::kNever;
      operation.version = 0;
      if (operation.kind == linearizability::Kind::kGet) operation.value = {};
    }
    (*by_key)[entry.key].push_back(operation);
  }
}

}  // namespace dunlin::testing
