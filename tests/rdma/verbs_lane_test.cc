// The lane over the verbs fabric: frames both ways, and who may connect.

#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <cstring>

#include "common/fabric/verbs/connect_data.h"
#include "common/layout/word.h"
#include "gmock/gmock.h"
#include "tests/rdma/verbs_fixture_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

class VerbsLaneTest : public VerbsFixture {
 protected:
  absl::StatusOr<std::vector<std::byte>> Echo(std::span<const std::byte> body) {
    connection_->Queue(LaneKind::kBlocksRequest, body);
    DUNLIN_RETURN_IF_ERROR(connection_->SendUntil(0, Soon()));
    DUNLIN_ASSIGN_OR_RETURN(const FramePort::Frame frame, connection_->Receive(Soon(), nullptr));
    EXPECT_EQ(frame.kind, LaneKind::kBlocksReply);
    return std::vector<std::byte>(frame.body.begin(), frame.body.end());
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, VerbsLaneTest, AllDevices(), DeviceName);

TEST_P(VerbsLaneTest, FramesOfAllSizes) {
  Connect();
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4079}, size_t{4080}, size_t{4081},
                             size_t{4088}, size_t{9000}, size_t{200'000}, size_t{kMaxLaneBody}}) {
    std::vector<std::byte> body(bytes);
    for (size_t i = 0; i < bytes; ++i) body[i] = static_cast<std::byte>(i * 7 + bytes);
    const auto echoed = Echo(body);
    ASSERT_TRUE(echoed.ok()) << bytes << ": " << echoed.status();
    ASSERT_EQ(*echoed, body) << bytes;
    EXPECT_TRUE(connection_->CheckQuiet().ok());
  }
  EXPECT_EQ(connection_->frames_sent(), 9u);
  EXPECT_EQ(connection_->unsent(), 0u);
}

// Many more messages than credits, with little in the other direction.
TEST_P(VerbsLaneTest, CreditsComeBack) {
  Connect();
  const std::vector<std::byte> body(100);
  for (int i = 0; i < 500; ++i) {
    connection_->Queue(LaneKind::kReturnBlocks, body);
    ASSERT_TRUE(connection_->SendUntil(0, Soon()).ok()) << connection_->broken();
  }
  ASSERT_TRUE(Echo(body).ok());
}

TEST_P(VerbsLaneTest, FramesBetweenChains) {
  TestServer::Options options;
  options.endpoint.domain = AtomicDomainRequest::kCpu;
  StartServer(options);
  Connect();
  std::vector<Chain> chains(channel_->depth());
  const std::vector<std::byte> body(5000);
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < chains.size(); ++i) {
      chains[i] = NewChain(i * 64);
      chains[i].Write(i * 64, 0, 8, nullptr, 0);
      chains[i].FetchAdd(8192 + i * 8, 1);
      chains[i].Read(8192 + i * 8, 8, 0);
      channel_->Post(&chains[i]);
      if (i % 16 == 5) connection_->Queue(LaneKind::kReturnBlocks, body);
    }
    const auto echoed = Echo(body);
    ASSERT_TRUE(echoed.ok()) << echoed.status();
    for (Chain& chain : chains) {
      ASSERT_EQ(Await(&chain), ChainOutcome::kDone) << channel_->broken();
      ASSERT_EQ(chain.work[1].result, static_cast<uint64_t>(round));
      ASSERT_EQ(PlainWord(chain.work[2].data), static_cast<uint64_t>(round) + 1);
    }
  }
}

TEST_P(VerbsLaneTest, WhatNobodyAskedFor) {
  Connect();
  connection_->Queue(LaneKind::kHeartbeat, {});
  ASSERT_TRUE(connection_->SendUntil(0, Soon()).ok());
  EXPECT_TRUE(TestServer::Await([&] { return !connection_->CheckQuiet().ok(); }));
  EXPECT_EQ(connection_->broken().code(), absl::StatusCode::kFailedPrecondition);
  Chain chain = NewChain();
  chain.ReadWord(0);
  EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
}

TEST_P(VerbsLaneTest, MoreThanWasAskedFor) {
  Connect();
  for (int i = 0; i < 2; ++i) connection_->Queue(LaneKind::kHeartbeat, {});
  ASSERT_TRUE(connection_->SendUntil(0, Soon()).ok());
  ASSERT_TRUE(TestServer::Await([&] {
    const auto frame = connection_->Receive(Soon(), nullptr);
    return !frame.ok();
  }));
}

TEST_P(VerbsLaneTest, NoAnswerBreaksTheLane) {
  TestServer::Options options;
  options.serve = false;
  StartServer(options);
  Connect();
  connection_->Queue(LaneKind::kHeartbeat, {});
  ASSERT_TRUE(connection_->SendNow().ok());
  const auto frame = connection_->Receive(Deadline::After(std::chrono::milliseconds(50)), nullptr);
  EXPECT_EQ(frame.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(connection_->broken().code(), absl::StatusCode::kDeadlineExceeded);
}

// The server takes nothing: credits run out, and what is left waits here.
TEST_P(VerbsLaneTest, AServerThatTakesNothing) {
  TestServer::Options options;
  options.serve = false;
  StartServer(options);
  Connect();
  connection_->Queue(LaneKind::kReturnBlocks, std::vector<std::byte>(500'000));
  const absl::Status sent =
      connection_->SendUntil(0, Deadline::After(std::chrono::milliseconds(50)));
  EXPECT_EQ(sent.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(connection_->broken().ok());
  EXPECT_GT(connection_->unsent(), 300'000u);
  EXPECT_TRUE(connection_->CheckQuiet().ok());
}

// Through every adapter of the host, which rules out that one of them executes the atomics if there
// are several.
TEST_P(VerbsLaneTest, OnAllAddresses) {
  const std::string address = address_;
  address_ = "";
  StartServer({});
  address_ = address;
  EXPECT_THAT(server_->endpoint().name(), HasSubstr("rdma://*:"));
  if (RdmaAddresses().size() > 1) {
    EXPECT_EQ(server_->endpoint().domain(), AtomicDomain::kCpu);
    EXPECT_FALSE(server_->endpoint().domain_reason().empty());
  }
  Connect();
  Chain chain = NewChain();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.FetchAdd(64, 1);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
}

TEST_P(VerbsLaneTest, AnAddressInUse) {
  TestServer::Options options;
  options.endpoint.address = address_;
  options.endpoint.port = server_->port();
  const auto second = TestServer::Start(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("cannot listen at " + address_));
}

TEST_P(VerbsLaneTest, AnAddressWithoutAnAdapter) {
  TestServer::Options options;
  options.endpoint.address = "192.0.2.1";  // for documentation: nobody has it
  EXPECT_FALSE(TestServer::Start(options).ok());
}

TEST_P(VerbsLaneTest, ADomainThatWouldShareAWord) {
  TestServer::Options options;
  options.endpoint.address = address_;
  options.endpoint.domain = AtomicDomainRequest::kNic;
  options.endpoint.tcp_sessions = true;
  const auto server = TestServer::Start(options);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(server.status().message()),
              HasSubstr(iwarp() ? "no atomics" : "over tcp"));
}

TEST_P(VerbsLaneTest, CredentialsOfTheSessionBefore) {
  VerbsOptions options;
  options.replaces_session = 77;
  options.replaces_token = 0x1234567890abcdef;
  Connect(options);
  EXPECT_EQ(server_->last_replaces().session, 77u);
  EXPECT_EQ(server_->last_replaces().token, 0x1234567890abcdefu);
}

TEST_P(VerbsLaneTest, NobodyListens) {
  const auto connection = DialVerbs(address_, "1", Soon(), {});
  EXPECT_EQ(connection.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(connection.status().message()), HasSubstr("nobody listens"));
}

TEST_P(VerbsLaneTest, NoSuchHost) {
  const auto connection = DialVerbs("no such host", "1", Soon(), {});
  EXPECT_FALSE(connection.ok());
  const auto loopback = DialVerbs("127.0.0.1", server_->port(), Soon(), {});
  EXPECT_FALSE(loopback.ok());
}

TEST_P(VerbsLaneTest, SourceAddress) {
  VerbsOptions options;
  options.source_address = address_;
  Connect(options);
  options.source_address = "::1";
  EXPECT_EQ(TryDial(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(VerbsLaneTest, TooManyConnections) {
  TestServer::Options options;
  options.endpoint.max_peers = 2;
  StartServer(options);
  const auto one = Dial();
  auto two = Dial();
  const auto three = TryDial();
  EXPECT_EQ(three.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(three.status().message()), HasSubstr("as many connections"));
  two = nullptr;
  ASSERT_TRUE(TestServer::Await([&] { return server_->ended() == 1; }));
  EXPECT_TRUE(TryDial().ok());
}

TEST_P(VerbsLaneTest, AServerThatStops) {
  const auto one = Dial();
  ASSERT_NE(one, nullptr);
  server_->Do([&] { server_->endpoint().StopAccepting(); });
  const auto two = TryDial();
  EXPECT_EQ(two.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(one->CheckQuiet().ok());
}

// Asks for a connection, gets the answer, and leaves it at that.
class HangingClient {
 public:
  ~HangingClient() {
    if (qp_ != nullptr) ibv_destroy_qp(qp_);
    if (cq_ != nullptr) ibv_destroy_cq(cq_);
    if (id_ != nullptr) rdma_destroy_id(id_);
    if (channel_ != nullptr) rdma_destroy_event_channel(channel_);
  }
  bool Connect(const std::string& host, const std::string& port) {
    channel_ = rdma_create_event_channel();
    if (channel_ == nullptr || rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP) != 0)
      return false;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), nullptr, &found) != 0) return false;
    const int resolving = rdma_resolve_addr(id_, nullptr, found->ai_addr, 1000);
    ::freeaddrinfo(found);
    if (resolving != 0 || !Await(RDMA_CM_EVENT_ADDR_RESOLVED)) return false;
    if (rdma_resolve_route(id_, 1000) != 0 || !Await(RDMA_CM_EVENT_ROUTE_RESOLVED)) return false;
    // A queue pair that librdmacm knows nothing of: it leaves the rest of the handshake to us.
    cq_ = ibv_create_cq(id_->verbs, 8, nullptr, nullptr, 0);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq_;
    attributes.cap = {4, 4, 1, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    qp_ = ibv_create_qp(id_->pd, &attributes);
    if (qp_ == nullptr) return false;
    ConnectData data = MakeConnectData(4096, 16);
    rdma_conn_param parameters{};
    parameters.private_data = &data;
    parameters.private_data_len = sizeof data;
    parameters.qp_num = qp_->qp_num;
    return rdma_connect(id_, &parameters) == 0 && Await(RDMA_CM_EVENT_CONNECT_RESPONSE);
  }

 private:
  bool Await(rdma_cm_event_type type) {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel_, &event) != 0) return false;
    const bool expected = event->event == type;
    rdma_ack_cm_event(event);
    return expected;
  }
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

// Connects with these private data and returns the reason for which the server refuses, -1 if it
// doesn't.
class RawClient {
 public:
  ~RawClient() {
    if (id_ != nullptr) rdma_destroy_ep(id_);
  }
  int Connect(const std::string& host, const std::string& port, const void* data, uint8_t bytes) {
    rdma_addrinfo hints{};
    hints.ai_port_space = RDMA_PS_TCP;
    rdma_addrinfo* found = nullptr;
    if (rdma_getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return -2;
    ibv_qp_init_attr attributes{};
    attributes.cap = {4, 4, 1, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    const int made = rdma_create_ep(&id_, found, nullptr, &attributes);
    rdma_freeaddrinfo(found);
    if (made != 0) return -2;
    rdma_conn_param parameters{};
    parameters.private_data = data;
    parameters.private_data_len = bytes;
    parameters.initiator_depth = parameters.responder_resources = 1;
    if (rdma_connect(id_, &parameters) == 0) return -1;
    if (id_->event == nullptr || id_->event->event != RDMA_CM_EVENT_REJECTED) return -3;
    ConnectData answer;
    const auto* answered = static_cast<const std::byte*>(id_->event->param.conn.private_data);
    if (!IsConnectData({answered, id_->event->param.conn.private_data_len}, &answer)) return -4;
    return answer.verdict;
  }

 private:
  rdma_cm_id* id_ = nullptr;
};

// A listener that answers nothing.
TEST_P(VerbsLaneTest, AServerThatNeverAnswers) {
  rdma_event_channel* channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  ASSERT_EQ(rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP), 0);
  addrinfo* found = nullptr;
  ASSERT_EQ(::getaddrinfo(address_.c_str(), "0", nullptr, &found), 0);
  ASSERT_EQ(rdma_bind_addr(listener, found->ai_addr), 0);
  ::freeaddrinfo(found);
  ASSERT_EQ(rdma_listen(listener, 8), 0);
  SystemClock clock;
  const int64_t begin = clock.NowNanos();
  const auto connection = DialVerbs(address_, std::to_string(be16toh(rdma_get_src_port(listener))),
                                    Deadline::After(std::chrono::milliseconds(100)), {});
  EXPECT_EQ(connection.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(connection.status().message()), HasSubstr("does not answer"));
  // Linux's software iWARP lets go of an attempt after 10 s only.
  EXPECT_LT(clock.NowNanos() - begin, (iwarp() ? 20 : 2) * int64_t{1'000'000'000});
  rdma_destroy_id(listener);
  rdma_destroy_event_channel(channel);
}

// One that never says that it has got the server's answer. (An iWARP connection stands without
// that.)
TEST_P(VerbsLaneTest, AHandshakeThatNeverEnds) {
  if (iwarp()) GTEST_SKIP() << "iWARP has no such handshake";
  TestServer::Options options;
  options.endpoint.handshake_time = std::chrono::milliseconds(50);
  options.endpoint.max_peers = 1;
  StartServer(options);
  HangingClient hanging;
  ASSERT_TRUE(hanging.Connect(address_, server_->port()));
  EXPECT_EQ(TryDial().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(TestServer::Await([&] {
    server_->Do([&] { server_->endpoint().Probe(); });
    return TryDial().ok();
  }));
}

TEST_P(VerbsLaneTest, RefusesStrangers) {
  ConnectData data = MakeConnectData(4096, 16);
  EXPECT_EQ(RawClient().Connect(address_, server_->port(), &data, sizeof data), -1);
  EXPECT_EQ(RawClient().Connect(address_, server_->port(), "hello", 5),
            static_cast<int>(ConnectVerdict::kInvalid));
  data.magic ^= 1;
  EXPECT_EQ(RawClient().Connect(address_, server_->port(), &data, sizeof data),
            static_cast<int>(ConnectVerdict::kInvalid));
  data = MakeConnectData(4096, 16);
  data.version = 9;
  EXPECT_EQ(RawClient().Connect(address_, server_->port(), &data, sizeof data),
            static_cast<int>(ConnectVerdict::kOtherVersion));
  data = MakeConnectData(10, 16);
  EXPECT_EQ(RawClient().Connect(address_, server_->port(), &data, sizeof data),
            static_cast<int>(ConnectVerdict::kInvalid));
  Connect();
  Chain chain = NewChain();
  chain.ReadWord(0);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone);
}

}  // namespace
}  // namespace dunlin
