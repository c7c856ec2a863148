#include "common/fabric/tcp/tcp_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/tcp/tcp_connect.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Bytes = std::vector<std::byte>;

constexpr int kSilenceMs = 10'000;
constexpr uint64_t kData = uint64_t{5} << Endpoint::kEventBits;

Deadline Late() { return Deadline::After(std::chrono::milliseconds(20'000)); }

class TcpEndpointTest : public ::testing::Test {
 protected:
  TcpEndpointTest() {
    auto endpoint = TcpEndpoint::Listen({.host = "127.0.0.1", .port = "0", .region_bytes = 4096});
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    if (!endpoint.ok()) return;
    endpoint_ = std::move(*endpoint);
    EXPECT_TRUE(endpoint_->WatchIn(epoll_.get(), kData).ok());
  }
  std::string Port() const { return endpoint_->name().substr(endpoint_->name().rfind(':') + 1); }
  UniqueFd Connect() {
    auto socket = TcpConnect("127.0.0.1", Port(), Late(), kSilenceMs);
    EXPECT_TRUE(socket.ok()) << socket.status();
    return socket.ok() ? std::move(*socket) : UniqueFd();
  }
  // Waits for something to do and does it; new peers get the tags 1, 2, ...
  std::vector<Endpoint::Ready> Progress() {
    std::array<epoll_event, 16> events;
    const int n = epoll_wait(epoll_.get(), events.data(), events.size(), 20'000);
    EXPECT_GE(n, 1);
    std::vector<std::unique_ptr<EndpointPeer>> accepted;
    std::vector<Endpoint::Ready> ready;
    for (int i = 0; i < n; ++i) {
      const uint64_t data = events[static_cast<size_t>(i)].data.u64;
      EXPECT_EQ(data >> Endpoint::kEventBits, kData >> Endpoint::kEventBits);
      endpoint_->Progress(data - kData, events[static_cast<size_t>(i)].events, accepted, ready);
    }
    for (auto& each : accepted) {
      peers_.push_back(std::move(each));
      peers_.back()->SetTag(peers_.size());
    }
    return ready;
  }
  bool Quiet() {
    pollfd waited{epoll_.get(), POLLIN, 0};
    return poll(&waited, 1, 0) == 0;
  }
  // Until the peer of that tag has something to receive, or is gone.
  void AwaitReceive(uint64_t tag) {
    for (;;) {
      for (const Endpoint::Ready& each : Progress()) {
        if (each.tag == tag && each.receive) return;
      }
    }
  }
  // A connected pair: the client's socket, and peers_.back().
  UniqueFd Pair() {
    UniqueFd client = Connect();
    const size_t before = peers_.size();
    while (peers_.size() == before) Progress();
    return client;
  }

  const UniqueFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  std::unique_ptr<TcpEndpoint> endpoint_;
  std::vector<std::unique_ptr<EndpointPeer>> peers_;
};

TEST_F(TcpEndpointTest, NamesWhereItListensAndWhoCame) {
  EXPECT_THAT(endpoint_->name(), StartsWith("tcp://127.0.0.1:"));
  EXPECT_NE(Port(), "0");
  const UniqueFd client = Pair();
  EXPECT_THAT(peers_[0]->name(), StartsWith("tcp 127.0.0.1:"));
  const RegionAccess access = peers_[0]->Access(true);
  EXPECT_EQ(access.region_bytes, 4096u);
  EXPECT_TRUE(access.read_only);
  EXPECT_TRUE(access.keys.empty());
  EXPECT_EQ(access.domain, AtomicDomain::kCpu);
}

TEST_F(TcpEndpointTest, BytesBothWays) {
  const UniqueFd client = Pair();
  const Bytes sent = {std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_EQ(send(client.get(), sent.data(), 3, 0), 3);
  AwaitReceive(1);
  Bytes buffer(16);
  Transfer got = peers_[0]->Receive(buffer);
  EXPECT_EQ(got.bytes, 3u);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), buffer.begin()));
  got = peers_[0]->Receive(buffer);
  EXPECT_EQ(got.bytes, 0u);
  EXPECT_FALSE(got.hung_up);
  EXPECT_EQ(got.why, "");
  EXPECT_EQ(peers_[0]->Send(sent).bytes, 3u);
  pollfd waited{client.get(), POLLIN, 0};
  ASSERT_EQ(poll(&waited, 1, 20'000), 1);
  EXPECT_EQ(recv(client.get(), buffer.data(), buffer.size(), 0), 3);
}

TEST_F(TcpEndpointTest, WhatCameBeforeTheEndIsHandedOut) {
  UniqueFd client = Pair();
  ASSERT_EQ(send(client.get(), "bye", 3, 0), 3);
  client.Reset();
  AwaitReceive(1);
  Bytes buffer(16);
  EXPECT_EQ(peers_[0]->Receive(buffer).bytes, 3u);
  Transfer end = peers_[0]->Receive(buffer);
  while (end.bytes == 0 && !end.hung_up && end.why.empty()) {
    AwaitReceive(1);
    end = peers_[0]->Receive(buffer);
  }
  EXPECT_TRUE(end.hung_up);
  EXPECT_EQ(end.bytes, 0u);
}

TEST_F(TcpEndpointTest, TellsWhenThereIsRoomAgain) {
  const UniqueFd client = Pair();
  const Bytes much(1u << 20);
  size_t sent = 0;
  for (;;) {
    const Transfer took = peers_[0]->Send(much);
    ASSERT_EQ(took.why, "");
    sent += took.bytes;
    if (took.bytes == 0) break;
  }
  Bytes buffer(1u << 20);
  bool room = false;
  size_t got = 0;
  while (!room && got < sent) {
    const ssize_t n = recv(client.get(), buffer.data(), buffer.size(), 0);
    if (n > 0) got += static_cast<size_t>(n);
    if (Quiet()) continue;
    for (const Endpoint::Ready& each : Progress()) room |= each.send && each.tag == 1;
  }
  EXPECT_TRUE(room);
  EXPECT_GT(peers_[0]->Send(much).bytes, 0u);
}

TEST_F(TcpEndpointTest, APeerThatIsDestroyedEndsItsConnection) {
  const UniqueFd client = Pair();
  peers_.clear();
  pollfd waited{client.get(), POLLIN, 0};
  ASSERT_EQ(poll(&waited, 1, 20'000), 1);
  std::byte byte;
  EXPECT_EQ(recv(client.get(), &byte, 1, 0), 0);
}

TEST_F(TcpEndpointTest, PeersMayOutliveIt) {
  const UniqueFd client = Pair();
  endpoint_.reset();
  EXPECT_EQ(peers_[0]->Access(false).region_bytes, 0u);
  ASSERT_EQ(send(client.get(), "x", 1, 0), 1);
  Bytes buffer(4);
  Transfer got;
  const Deadline deadline = Late();
  while (got.bytes == 0 && deadline.NanosLeft() != 0) got = peers_[0]->Receive(buffer);
  EXPECT_EQ(got.bytes, 1u);
  peers_.clear();
}

TEST_F(TcpEndpointTest, StopsAccepting) {
  const UniqueFd before = Pair();
  const std::string port = Port();
  endpoint_->StopAccepting();
  const auto refused = TcpConnect("127.0.0.1", port, Late(), kSilenceMs);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().ToString(), HasSubstr("--tcp"));
  ASSERT_EQ(send(before.get(), "x", 1, 0), 1);
  AwaitReceive(1);
  Bytes buffer(4);
  EXPECT_EQ(peers_[0]->Receive(buffer).bytes, 1u);
}

TEST_F(TcpEndpointTest, ManyPeersEachWithItsTag) {
  constexpr size_t kPeers = 40;
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < kPeers; ++i) clients.push_back(Pair());
  ASSERT_EQ(peers_.size(), kPeers);
  for (const size_t i : {size_t{0}, size_t{17}, kPeers - 1}) {
    const auto number = static_cast<unsigned char>(i);
    ASSERT_EQ(send(clients[i].get(), &number, 1, 0), 1);
    AwaitReceive(i + 1);
    Bytes buffer(4);
    EXPECT_EQ(peers_[i]->Receive(buffer).bytes, 1u);
    EXPECT_EQ(std::to_integer<size_t>(buffer[0]), i);
  }
}

TEST(TcpListenTest, SaysWhyItCant) {
  auto first = TcpEndpoint::Listen({.host = "127.0.0.1", .port = "0"});
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string port = (*first)->name().substr((*first)->name().rfind(':') + 1);
  const auto taken = TcpEndpoint::Listen({.host = "127.0.0.1", .port = port});
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(taken.status().ToString(), HasSubstr("free port"));
  const auto nowhere = TcpEndpoint::Listen({.host = "not.a.host.invalid", .port = "1"});
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kInvalidArgument);
  // An address of documentation, of no machine.
  const auto foreign = TcpEndpoint::Listen({.host = "192.0.2.1", .port = "0"});
  EXPECT_EQ(foreign.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace dunlin
