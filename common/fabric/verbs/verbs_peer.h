#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/fabric/endpoint.h"
#include "common/fabric/verbs/cm_events.h"
#include "common/fabric/verbs/connect_data.h"
#include "common/fabric/verbs/endpoint_options.h"
#include "common/fabric/verbs/queue_pair.h"
#include "common/fabric/verbs/server_device.h"
#include "common/fabric/verbs/verbs_link.h"

namespace dunlin {

class VerbsPeer;

// Whom a peer tells that it is being destroyed.
class PeerKeeper {
 public:
  virtual ~PeerKeeper() = default;
  virtual void Forget(VerbsPeer* peer) = 0;
};

// The server's end of one client's connection.
class VerbsPeer final : public EndpointPeer {
 public:
  // Makes the queue pair for a connection request on `id`, and posts its receive buffers. The id is
  // taken over with Accept. Errors: ResourceExhausted, Unavailable.
  static absl::StatusOr<std::unique_ptr<VerbsPeer>> Create(rdma_cm_id* id,
                                                           std::shared_ptr<ServerDevice> device,
                                                           const ConnectData& hello,
                                                           const VerbsEndpointOptions& options,
                                                           AtomicDomain domain);
  ~VerbsPeer() override;

  // EndpointPeer.
  Transfer Receive(std::span<std::byte> buffer) override;
  Transfer Send(std::span<const std::byte> bytes) override;
  void SetTag(uint64_t tag) override { tag_ = tag; }
  const std::string& name() const override { return name_; }
  RegionAccess Access(bool read_only) const override;
  Replaced replaces() const override { return replaces_; }

  // For the endpoint. Takes the id and answers the request.
  // `events`: those of the id, which must not be gone before it.
  absl::Status Accept(CmId id, std::shared_ptr<CmEvents> events, const CmEvent& request,
                      const VerbsEndpointOptions& options);
  void SetKeeper(PeerKeeper* keeper) { keeper_ = keeper; }
  // A completion event came: takes what there is and asks for the next one.
  void OnCompletionEvent();
  // The connection manager says that the connection has ended.
  void OnHangUp();
  void OnFailure(absl::Status why);
  // If nothing was heard since the last call, has the adapter find out whether the peer's answers.
  // False: that can't even be asked, since the connection has ended.
  bool ProbeIfIdle();
  // What has come to be since the last call; none: nothing.
  std::optional<Endpoint::Ready> TakeReady();

  rdma_cm_id* id() const { return id_.get(); }
  const ServerDevice& device() const { return *device_; }
  int64_t requested_at() const { return requested_at_; }

  // The endpoint's notes.
  bool established = false;
  bool listed = false;  // among those that may have something to tell

 private:
  struct Parts {
    std::shared_ptr<ServerDevice> device;
    RegisteredBuffer buffers;
    QueuePair pair;
  };
  VerbsPeer(Parts parts, const VerbsLink::Limits& limits, const VerbsLink::Buffers& link_buffers,
            std::string name);

  // The end of the connection as the server is to see it.
  Transfer End() const;

  std::shared_ptr<ServerDevice> device_;
  std::shared_ptr<CmEvents> events_;
  CmId id_;
  RegisteredBuffer buffers_;
  QueuePair pair_;
  const std::string name_;
  VerbsLink link_;
  RegionAccess access_;
  Replaced replaces_;
  PeerKeeper* keeper_ = nullptr;
  uint64_t tag_ = 0;
  int64_t requested_at_ = 0;  // Clock::NowNanos
  bool hung_up_ = false;
  bool wants_send_ = false;
  bool told_end_ = false;
  uint64_t told_messages_ = 0;
  uint64_t probed_at_ = 0;  // completions then
};

// "10.1.0.1:7471", "[fe80::1%eth0]:7471".
std::string AddressText(const sockaddr* address);

}  // namespace dunlin
