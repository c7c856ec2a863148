#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace dunlin::simulator {

// A flow of control with a stack of its own, which runs only while it is resumed. All fibers and
// who resumes them belong to one thread; a fiber doesn't resume another one.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  // REQUIRES: it has ended.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body on until it yields or ends. REQUIRES: not done(), called from outside.
  void Resume();
  // Returns to who resumed the fiber. REQUIRES: called from the body.
  void Yield();
  bool done() const { return done_; }

 private:
  static void Enter(unsigned low, unsigned high);
  void Run();

  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t inside_;
  ucontext_t outside_;
  bool done_ = false;
  // For AddressSanitizer, which follows the stacks.
  void* fake_stack_ = nullptr;
  const void* outside_stack_ = nullptr;
  size_t outside_bytes_ = 0;
};

}  // namespace dunlin::simulator
