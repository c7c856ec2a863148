#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "tests/linearizability/recording.h"
#include "tests/linearizability/workload.h"

namespace dunlin::testing {

// A client process of its own, with its recording. Killed, and the recording
// removed, when this is destroyed.
class ClientProcess {
 public:
  static absl::StatusOr<std::unique_ptr<ClientProcess>> Start(const std::string& binary,
                                                              const std::string& target,
                                                              const std::string& folder,
                                                              uint64_t capacity,
                                                              const WorkloadPlan& plan);
  ~ClientProcess();
  ClientProcess(const ClientProcess&) = delete;
  ClientProcess& operator=(const ClientProcess&) = delete;

  uint32_t number() const { return number_; }
  const Recording& recording() const { return *recording_; }
  RecordingHeader& header() { return recording_->header(); }

  int pidfd() const { return pidfd_.get(); }  // readable once it ended
  bool running() const { return pid_ > 0; }
  bool stopped() const { return stopped_; }
  bool was_stopped() const { return was_stopped_; }

  void Stop();      // SIGSTOP
  void Continue();  // SIGCONT
  void AskToEnd();
  // kill -9; returns when it is gone.
  void Kill();
  // After its end: the exit code, or minus the signal.
  int Reap();

 private:
  ClientProcess() = default;
  uint32_t number_ = 0;
  std::string file_;
  std::unique_ptr<Recording> recording_;
  UniqueFd pidfd_;
  pid_t pid_ = -1;
  bool stopped_ = false;
  bool was_stopped_ = false;
};

}  // namespace dunlin::testing
