// Events that software devices don't have, or not while somebody uses them: put in between
// librdmacm, libibverbs and the fabric (the linker's --wrap), on connections that otherwise are
// real.

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sys/epoll.h>

#include <atomic>
#include <cerrno>

#include "gmock/gmock.h"
#include "tests/rdma/verbs_fixture_testing.h"

namespace dunlin {
namespace {

// What is to come next, to whichever thread: the client's is the one that set it.
struct Injected {
  std::atomic<int> cm_event{-1};
  std::atomic<rdma_cm_id*> cm_id{nullptr};
  std::atomic<bool> to_server{false};
  std::atomic<int> device_event{-1};
  std::atomic<ibv_qp*> device_qp{nullptr};
  std::atomic<int> device_fd{-1};
  // The latest connection request that the server got.
  std::atomic<rdma_cm_id*> requested{nullptr};
  pthread_t client = {};
};
Injected injected;

bool IsClient() { return ::pthread_equal(::pthread_self(), injected.client) != 0; }

}  // namespace
}  // namespace dunlin

extern "C" {

int __real_rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event);
int __real_rdma_ack_cm_event(rdma_cm_event* event);
int __real_epoll_wait(int fd, epoll_event* events, int most, int timeout);
int __real_ibv_get_async_event(ibv_context* context, ibv_async_event* event);
void __real_ibv_ack_async_event(ibv_async_event* event);

int __wrap_rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  using dunlin::injected;
  if (injected.cm_event >= 0 && dunlin::IsClient() != injected.to_server) {
    auto* made = new rdma_cm_event{};
    made->event = static_cast<rdma_cm_event_type>(injected.cm_event.exchange(-1));
    made->id = injected.cm_id;
    made->status = -77;
    *event = made;
    return 0;
  }
  const int result = __real_rdma_get_cm_event(channel, event);
  if (result == 0 && (*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    injected.requested = (*event)->id;
  }
  return result;
}

int __wrap_rdma_ack_cm_event(rdma_cm_event* event) {
  if (event->status != -77) return __real_rdma_ack_cm_event(event);
  delete event;
  return 0;
}

int __wrap_epoll_wait(int fd, epoll_event* events, int most, int timeout) {
  using dunlin::injected;
  const int n = __real_epoll_wait(fd, events, most, timeout);
  if (injected.device_event < 0 || dunlin::IsClient() || n < 0 || n == most) return n;
  events[n].events = EPOLLIN;
  events[n].data.fd = injected.device_fd;
  return n + 1;
}

int __wrap_ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  using dunlin::injected;
  if (injected.device_event < 0) return __real_ibv_get_async_event(context, event);
  event->event_type = static_cast<ibv_event_type>(injected.device_event.exchange(-1));
  event->element.qp = injected.device_qp;
  return 0;
}

void __wrap_ibv_ack_async_event(ibv_async_event* event) {
  const bool real =
      event->event_type == IBV_EVENT_PORT_ACTIVE || event->event_type == IBV_EVENT_PORT_ERR;
  if (real) __real_ibv_ack_async_event(event);
}

}  // extern "C"

namespace dunlin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VerbsInjectionTest : public VerbsFixture {
 protected:
  void SetUp() override {
    injected.client = ::pthread_self();
    VerbsFixture::SetUp();
  }
  void TearDown() override {
    injected.cm_event = -1;
    injected.device_event = -1;
  }
  void InjectAtServer(rdma_cm_event_type type, rdma_cm_id* id) {
    injected.cm_id = id;
    injected.to_server = true;
    injected.cm_event = type;
    // Whatever the outcome: it makes the server look at its connection manager's events.
    TryDial().status().IgnoreError();
  }
  void InjectDeviceEvent(ibv_event_type type) {
    rdma_cm_id* const id = injected.requested;
    injected.device_fd = id->verbs->async_fd;
    injected.device_qp = id->qp;
    injected.device_event = type;
    server_->Do([] {});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, VerbsInjectionTest, AllDevices(), DeviceName);

TEST_P(VerbsInjectionTest, TheClientsDeviceIsRemoved) {
  for (const auto& [type, text] :
       {std::pair(RDMA_CM_EVENT_DEVICE_REMOVAL, "was removed from this host"),
        std::pair(RDMA_CM_EVENT_ADDR_CHANGE, "moved to another adapter")}) {
    Connect();
    Chain chain = NewChain();
    chain.FetchAdd(64, 1);
    ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
    injected.to_server = false;
    injected.cm_event = type;
    EXPECT_EQ(connection_->CheckQuiet().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(channel_->broken().message()), HasSubstr(text));
    EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
  }
}

TEST_P(VerbsInjectionTest, EventsThatMeanNothingToTheClient) {
  Connect();
  injected.to_server = false;
  injected.cm_event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
  EXPECT_TRUE(connection_->CheckQuiet().ok());
}

TEST_P(VerbsInjectionTest, TheServersDeviceIsRemoved) {
  Connect();
  rdma_cm_id* const id = injected.requested;
  InjectAtServer(RDMA_CM_EVENT_DEVICE_REMOVAL, id);
  ASSERT_TRUE(TestServer::Await([&] { return server_->ended() >= 1; }));
  EXPECT_THAT(server_->ends()[0], HasSubstr("was removed"));
  EXPECT_TRUE(TestServer::Await([&] { return !connection_->CheckQuiet().ok(); }));
  const auto late = TryDial();
  EXPECT_EQ(late.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("not registered with the device"));
}

TEST_P(VerbsInjectionTest, TheServersDeviceFails) {
  Connect();
  InjectDeviceEvent(IBV_EVENT_DEVICE_FATAL);
  ASSERT_TRUE(TestServer::Await([&] { return server_->ended() == 1; }));
  EXPECT_THAT(server_->ends(), ElementsAre(HasSubstr("has failed")));
  EXPECT_FALSE(TryDial().ok());
}

TEST_P(VerbsInjectionTest, OneQueuePairFails) {
  const auto other = Dial();
  ASSERT_NE(other, nullptr);
  Connect();
  InjectDeviceEvent(IBV_EVENT_QP_FATAL);
  ASSERT_TRUE(TestServer::Await([&] { return server_->ended() == 1; }));
  EXPECT_THAT(server_->ends(), ElementsAre(HasSubstr("queue pair has failed")));
  EXPECT_TRUE(TestServer::Await([&] { return !connection_->CheckQuiet().ok(); }));
  EXPECT_TRUE(other->CheckQuiet().ok());
  EXPECT_TRUE(TryDial().ok());
}

TEST_P(VerbsInjectionTest, DeviceEventsThatMeanNothing) {
  Connect();
  for (const ibv_event_type type :
       {IBV_EVENT_COMM_EST, IBV_EVENT_GID_CHANGE, IBV_EVENT_SM_CHANGE, IBV_EVENT_LID_CHANGE}) {
    InjectDeviceEvent(type);
    EXPECT_TRUE(TestServer::Await([&] { return injected.device_event < 0; }));
  }
  Chain chain = NewChain();
  chain.FetchAdd(64, 1);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
}

TEST_P(VerbsInjectionTest, APeersAddressMoves) {
  Connect();
  InjectAtServer(RDMA_CM_EVENT_ADDR_CHANGE, injected.requested);
  ASSERT_TRUE(TestServer::Await([&] { return server_->ended() >= 1; }));
  EXPECT_THAT(server_->ends()[0], HasSubstr("address has changed"));
  EXPECT_TRUE(TryDial().ok());
}

}  // namespace
}  // namespace dunlin
