#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/kvctl/context.h"
#include "client/kvctl/doctor/host_calls.h"
#include "client/kvctl/doctor/raw_probe.h"

namespace dunlin::kvctl {

struct DoctorArguments {
  std::string to;          // a server to measure the path to; empty: none
  std::string root = "/";  // of the tree whose files are read
  Milliseconds over{0};    // look twice, so long apart; 0: once, or around what --to measures
  Milliseconds timeout{5000};
};

// What the command touches outside of its files. Nothing is owned.
struct DoctorTools {
  HostCalls* calls = nullptr;
  // Waits; the doctor's two looks lie so far apart.
  std::function<void(Milliseconds)> wait;
  std::function<absl::StatusOr<std::unique_ptr<Client>>(std::string_view target,
                                                        const ClientOptions& options)>
      connect;
  RawProbe* raw = nullptr;  // null: no fabric here can measure single verbs
};

// Looks for what makes RDMA fail in practice and prints what it found, where, and what to do. With
// `to` it also measures the path to a server; that needs neither Context::client nor a session.
// kOk if no problem was found (warnings are no problem), else kProblemsFound.
ExitCode RunDoctor(Context& context, const DoctorArguments& arguments, const DoctorTools& tools);

}  // namespace dunlin::kvctl
