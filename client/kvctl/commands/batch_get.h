#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "client/kvctl/formats/record.h"
#include "dunlin/session.h"

namespace dunlin::kvctl {

// Gets many records in few round trips. Values up to kSmallValue come in one MultiGet; a larger
// one is fetched by itself, so that memory holds one large value at a time.
class BatchGetter {
 public:
  static constexpr size_t kSmallValue = 4096;

  // `session` must outlive the getter.
  explicit BatchGetter(Session& session) : session_(session) {}

  // Called for each key in order; record.value and ttl_ms are set if the outcome is kOk. `record`
  // may be moved from.
  using Visitor = std::function<void(size_t index, Outcome outcome, Record& record)>;
  void Get(std::span<const std::string> keys, const Visitor& visit);

 private:
  Session& session_;
  std::vector<std::byte> buffer_;
};

}  // namespace dunlin::kvctl
