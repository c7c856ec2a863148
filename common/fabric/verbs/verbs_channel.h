#pragma once

#include <cstdint>
#include <utility>

#include "common/fabric/fabric.h"
#include "common/fabric/verbs/verbs_connection.h"

namespace dunlin {

// One-sided verbs on the queue pair of a connection, which outlives the channel.
class VerbsChannel final : public Channel {
 public:
  explicit VerbsChannel(VerbsConnection* connection) : connection_(connection) {}
  // Chains that are still under way are their owner's again, so the adapter must let go of them.
  ~VerbsChannel() override {
    if (!connection_->chains()->idle()) Break(absl::CancelledError("the channel was closed"));
  }
  VerbsChannel(const VerbsChannel&) = delete;
  VerbsChannel& operator=(const VerbsChannel&) = delete;

  void Post(Chain* chain) override {
    connection_->chains()->Post(chain);
    connection_->AfterPost();
  }
  uint32_t Poll(Chain** finished, uint32_t max) override {
    ChainQueue& chains = *connection_->chains();
    if (!chains.any_finished() && connection_->broken().ok()) connection_->Progress();
    return chains.TakeFinished(finished, max);
  }
  void WaitFor(int64_t nanos) override {
    if (connection_->chains()->any_finished()) return;
    connection_->Wait(nanos);
  }
  uint32_t depth() const override { return connection_->chains()->depth(); }
  const absl::Status& broken() const override { return connection_->broken(); }
  void Break(absl::Status why) override { connection_->Break(std::move(why)).IgnoreError(); }

 private:
  VerbsConnection* const connection_;
};

}  // namespace dunlin
