#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "common/base/status.h"

namespace dunlin {

// What libibverbs and librdmacm hand out, each destroyed once.

template <auto destroy>
struct VerbsDeleter {
  template <typename T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};

using ProtectionDomain = std::unique_ptr<ibv_pd, VerbsDeleter<&ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, VerbsDeleter<&ibv_dereg_mr>>;
using CompletionChannel =
    std::unique_ptr<ibv_comp_channel, VerbsDeleter<&ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, VerbsDeleter<&ibv_destroy_cq>>;
using QueuePairHandle = std::unique_ptr<ibv_qp, VerbsDeleter<&ibv_destroy_qp>>;
using CmId = std::unique_ptr<rdma_cm_id, VerbsDeleter<&rdma_destroy_id>>;
using EventChannel = std::unique_ptr<rdma_event_channel, VerbsDeleter<&rdma_destroy_event_channel>>;

inline std::string ErrnoText(int error) {
  return error == 0 ? "no reason given" : std::generic_category().message(error);
}

inline absl::Status UnavailableFrom(std::string_view doing, int error) {
  return MakeStatus(absl::StatusCode::kUnavailable, std::string(doing) + ": " + ErrnoText(error));
}

}  // namespace dunlin
