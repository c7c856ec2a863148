#include "tests/simulator/fiber.h"

#include <cstdint>
#include <utility>

#include "common/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define DUNLIN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DUNLIN_ASAN 1
#endif
#endif

#ifdef DUNLIN_ASAN
#include <sanitizer/common_interface_defs.h>
#else
static void __sanitizer_start_switch_fiber(void**, const void*, size_t) {}
static void __sanitizer_finish_switch_fiber(void*, const void**, size_t*) {}
#endif

namespace dunlin::simulator {
namespace {

constexpr size_t kStackBytes = 512 * 1024;

}  // namespace

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
  DUNLIN_CHECK_EQ(getcontext(&inside_), 0);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  // makecontext hands on ints alone.
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2, static_cast<unsigned>(self),
              static_cast<unsigned>(self >> 32));
}

Fiber::~Fiber() { DUNLIN_CHECK(done_); }

void Fiber::Enter(unsigned low, unsigned high) {
  reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low)->Run();
}

void Fiber::Run() {
  __sanitizer_finish_switch_fiber(nullptr, &outside_stack_, &outside_bytes_);
  body_();
  done_ = true;
  __sanitizer_start_switch_fiber(nullptr, outside_stack_, outside_bytes_);
  setcontext(&outside_);
}

void Fiber::Resume() {
  DUNLIN_CHECK(!done_);
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_.get(), kStackBytes);
  DUNLIN_CHECK_EQ(swapcontext(&outside_, &inside_), 0);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
}

void Fiber::Yield() {
  __sanitizer_start_switch_fiber(&fake_stack_, outside_stack_, outside_bytes_);
  DUNLIN_CHECK_EQ(swapcontext(&inside_, &outside_), 0);
  __sanitizer_finish_switch_fiber(fake_stack_, &outside_stack_, &outside_bytes_);
}

}  // namespace dunlin::simulator
