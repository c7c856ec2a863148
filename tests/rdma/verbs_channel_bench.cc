// How much the channel adds to the verbs below it: a pair of READs posted together, and a WRITE
// with a compare-and-swap behind it, through a VerbsChannel and by bare verbs on a queue pair of
// the same device, to the same server, in turns.
//
//   verbs_channel_bench [rounds]        prints medians and their ratio for each device

#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/fabric/verbs/connect_data.h"
#include "common/fabric/verbs/verbs_dial.h"
#include "tests/rdma/verbs_server_testing.h"

namespace dunlin {
namespace {

constexpr int kOperations = 100;  // between two looks at the clock

// Bare verbs, connected as a session would be.
class Bare {
 public:
  bool Connect(const std::string& host, const std::string& port) {
    rdma_addrinfo hints{};
    hints.ai_port_space = RDMA_PS_TCP;
    rdma_addrinfo* found = nullptr;
    if (rdma_getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return false;
    ibv_qp_init_attr attributes{};
    attributes.cap = {64, 8, 1, 1, 64};
    attributes.qp_type = IBV_QPT_RC;
    const int made = rdma_create_ep(&id_, found, nullptr, &attributes);
    rdma_freeaddrinfo(found);
    if (made != 0) return false;
    memory_ = std::vector<std::byte>(8192);
    const int access = IBV_ACCESS_LOCAL_WRITE;
    mr_ = ibv_reg_mr(id_->pd, memory_.data(), memory_.size(), access);
    ConnectData data = MakeConnectData(4096, 8);
    rdma_conn_param parameters{};
    parameters.private_data = &data;
    parameters.private_data_len = sizeof data;
    parameters.initiator_depth = parameters.responder_resources = 16;
    parameters.retry_count = 3;
    return mr_ != nullptr && rdma_connect(id_, &parameters) == 0;
  }
  void ReadPair(const RegionAccess& access, uint32_t bytes) {
    Prepare(0, IBV_WR_RDMA_READ, 0, bytes, access.keys[0].address);
    Prepare(1, IBV_WR_RDMA_READ, 4096, bytes, access.keys[0].address + 8192);
    Run(access.keys[0].key);
  }
  void WriteAndSwap(const RegionAccess& access, uint32_t bytes, uint64_t value) {
    Prepare(0, IBV_WR_RDMA_WRITE, 0, bytes, access.keys[0].address);
    Prepare(1, IBV_WR_ATOMIC_CMP_AND_SWP, 4096, 8, 0);
    requests_[1].wr.atomic = {access.keys[0].address + 8192, value, value + 1, access.keys[0].key};
    Run(access.keys[0].key);
  }

 private:
  void Prepare(int i, ibv_wr_opcode opcode, size_t at, uint32_t bytes, uint64_t remote) {
    buffers_[i] = {reinterpret_cast<uintptr_t>(memory_.data() + at), bytes, mr_->lkey};
    requests_[i] = {};
    requests_[i].sg_list = &buffers_[i];
    requests_[i].num_sge = 1;
    requests_[i].opcode = opcode;
    requests_[i].wr.rdma.remote_addr = remote;
  }
  void Run(uint32_t key) {
    requests_[0].next = &requests_[1];
    requests_[0].wr.rdma.rkey = key;
    if (requests_[1].opcode == IBV_WR_RDMA_READ) requests_[1].wr.rdma.rkey = key;
    requests_[1].send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* refused = nullptr;
    if (ibv_post_send(id_->qp, requests_, &refused) != 0) std::abort();
    ibv_wc completion{};
    while (ibv_poll_cq(id_->send_cq, 1, &completion) == 0) continue;
    if (completion.status != IBV_WC_SUCCESS) std::abort();
  }

  rdma_cm_id* id_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::vector<std::byte> memory_;
  ibv_send_wr requests_[2];
  ibv_sge buffers_[2];
};

class Through {
 public:
  Through(std::unique_ptr<RemoteConnection> connection, const RegionAccess& access)
      : connection_(std::move(connection)), channel_(connection_->OpenChannel(access)) {
    chain_.scratch = scratch_;
  }
  void ReadPair(uint32_t bytes) {
    chain_.Clear();
    chain_.Read(0, bytes, 0);
    chain_.Read(8192, bytes, 4096);
    Run();
  }
  void WriteAndSwap(uint32_t bytes, uint64_t value) {
    chain_.Clear();
    chain_.Write(0, 0, bytes, nullptr, 0);
    chain_.CompareSwap(8192, value, value + 1);
    Run();
  }
  uint64_t waits() const { return waits_; }

 private:
  void Run() {
    channel_->Post(&chain_);
    Chain* done = nullptr;
    while (channel_->Poll(&done, 1) == 0) {
      channel_->WaitFor(1'000'000'000);
      ++waits_;
    }
    if (chain_.outcome != ChainOutcome::kDone) std::abort();
  }

  std::unique_ptr<RemoteConnection> connection_;
  std::unique_ptr<Channel> channel_;
  Chain chain_;
  std::byte scratch_[8192];
  uint64_t waits_ = 0;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Bare, typename Mine>
void Compare(const char* what, int rounds, Bare&& bare, Mine&& mine) {
  SystemClock clock;
  std::vector<double> of_bare, of_mine;
  const auto time = [&](auto&& one, std::vector<double>& into) {
    const int64_t begin = clock.NowNanos();
    for (int i = 0; i < kOperations; ++i) one();
    into.push_back(static_cast<double>(clock.NowNanos() - begin) / kOperations / 1000);
  };
  for (int round = 0; round < rounds; ++round) {
    time(bare, of_bare);
    time(mine, of_mine);
  }
  std::printf("%s: bare verbs %.2f us, channel %.2f us, ratio %.3f\n", what, Median(of_bare),
              Median(of_mine), Median(of_mine) / Median(of_bare));
}

int Measure(const std::string& device, const std::string& address, int rounds) {
  TestServer::Options options;
  options.endpoint.address = address;
  auto server = TestServer::Start(options);
  if (!server.ok()) return std::fprintf(stderr, "%s\n", server.status().ToString().c_str()), 1;
  auto connection =
      DialVerbs(address, (*server)->port(), Deadline::After(std::chrono::seconds(10)), {});
  if (!connection.ok()) {
    return std::fprintf(stderr, "%s\n", connection.status().ToString().c_str()), 1;
  }
  const RegionAccess access = (*server)->Access(false);
  Bare bare;
  if (!bare.Connect(address, (*server)->port())) return std::perror("bare verbs"), 1;
  Through through(*std::move(connection), access);
  for (const uint32_t bytes : {128u, 4096u}) {
    const std::string what = device + ", two READs of " + std::to_string(bytes);
    Compare(
        what.c_str(), rounds, [&] { bare.ReadPair(access, bytes); },
        [&] { through.ReadPair(bytes); });
  }
  if (access.domain == AtomicDomain::kNic) {
    uint64_t value = 0;
    const std::string what = device + ", WRITE of 128 and compare-and-swap";
    Compare(
        what.c_str(), rounds, [&] { bare.WriteAndSwap(access, 128, value++); },
        [&] { through.WriteAndSwap(128, value++); });
  } else {
    uint64_t value = 0;
    const std::string what = device + ", READ pair against WRITE of 128 and a tail";
    Compare(
        what.c_str(), rounds, [&] { bare.ReadPair(access, 128); },
        [&] { through.WriteAndSwap(128, value++); });
  }
  std::printf("%s: waited %llu times\n", device.c_str(),
              static_cast<unsigned long long>(through.waits()));
  return 0;
}

}  // namespace
}  // namespace dunlin

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  int failed = 0;
  for (const auto& [device, address] : dunlin::RdmaAddresses()) {
    failed |= dunlin::Measure(device, address, rounds);
  }
  return failed;
}
