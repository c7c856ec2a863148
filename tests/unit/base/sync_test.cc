#include "common/base/sync.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"

namespace dunlin {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, ExcludesOtherThreads) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counter] {
      for (int n = 0; n < 10'000; ++n) {
        MutexLock lock(counter.mutex);
        ++counter.value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.value, 40'000);
}

TEST(Mutex, TryLockFailsWhileHeld) {
  Counter counter;
  counter.mutex.Lock();
  std::thread([&counter] {
    const bool locked = counter.mutex.TryLock();
    EXPECT_FALSE(locked);
    if (locked) counter.mutex.Unlock();
  }).join();
  counter.mutex.Unlock();
}

TEST(CondVar, WaitSeesWhatTheNotifierWrote) {
  Counter counter;
  std::thread writer([&counter] {
    MutexLock lock(counter.mutex);
    counter.value = 5;
    counter.changed.NotifyAll();
  });
  {
    MutexLock lock(counter.mutex);
    while (counter.value == 0) counter.changed.Wait(counter.mutex);
    EXPECT_EQ(counter.value, 5);
  }
  writer.join();
}

TEST(CondVar, WaitForEndsWithoutANotifier) {
  Counter counter;
  MutexLock lock(counter.mutex);
  // Spurious wake-ups are allowed, thousands in a row are not.
  bool timed_out = false;
  for (int i = 0; i < 1000 && !timed_out; ++i) {
    timed_out = !counter.changed.WaitFor(counter.mutex, std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(timed_out);
}

}  // namespace
}  // namespace dunlin
