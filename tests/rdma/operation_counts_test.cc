#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <atomic>
#include <string>
#include <vector>

#include "dunlin/client.h"
#include "tests/support/server_process.h"

// What a session's operations cost, counted where it can't be argued with: at ibv_post_send.

namespace dunlin {
namespace {

struct Posted {
  int posts = 0;
  int reads = 0;
  int writes = 0;
  int atomics = 0;
  int sends = 0;
  bool operator==(const Posted&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Posted& p) {
  return out << p.posts << " posts: " << p.reads << " READ " << p.writes << " WRITE " << p.atomics
             << " atomics " << p.sends << " SEND";
}

Posted counted;
decltype(ibv_context_ops::post_send) original = nullptr;

int CountPost(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad) {
  ++counted.posts;
  for (const ibv_send_wr* request = first; request != nullptr; request = request->next) {
    switch (request->opcode) {
      case IBV_WR_RDMA_READ:
        ++counted.reads;
        break;
      case IBV_WR_RDMA_WRITE:
        ++counted.writes;
        break;
      case IBV_WR_ATOMIC_CMP_AND_SWP:
      case IBV_WR_ATOMIC_FETCH_AND_ADD:
        ++counted.atomics;
        break;
      default:
        ++counted.sends;
    }
  }
  return original(pair, first, bad);
}

// Of this process's connections, which are all on one device: librdmacm opens each device once.
class CountedPosts {
 public:
  explicit CountedPosts(const std::string& device) {
    int count = 0;
    ibv_context** contexts = rdma_get_devices(&count);
    for (int i = 0; i < count; ++i) {
      const std::string name = ibv_get_device_name(contexts[i]->device);
      if (name.starts_with(device)) context_ = contexts[i];
    }
    rdma_free_devices(contexts);
    if (context_ == nullptr) return;
    original = context_->ops.post_send;
    context_->ops.post_send = &CountPost;
  }
  ~CountedPosts() {
    if (context_ != nullptr) context_->ops.post_send = original;
  }
  bool found() const { return context_ != nullptr; }
  bool atomics() const {
    ibv_device_attr attributes{};
    return ibv_query_device(context_, &attributes) == 0 && attributes.atomic_cap != IBV_ATOMIC_NONE;
  }

 private:
  ibv_context* context_ = nullptr;
};

class OperationCountsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ::setenv("TEST_FABRIC", GetParam().c_str(), 1);
    const testing::TestFabric fabric = testing::FabricUnderTest();
    if (fabric.name != "rdma") GTEST_SKIP() << "no " << GetParam() << " device here";
    auto server = testing::ServerProcess::Start(
        {.binary = DUNLIN_SERVER_BINARY, .memory = "64MiB", .more = {}, .fabric = fabric});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ClientOptions options;
    options.server_timeout = Milliseconds(0);  // a watch of its own would be counted too
    auto client = Client::Connect(server_->target(), options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    auto session = client_->OpenSession();
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  template <typename Call>
  static Posted Cost(Call&& call) {
    counted = {};
    call();
    return counted;
  }

  std::unique_ptr<testing::ServerProcess> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Session> session_;
};

TEST_P(OperationCountsTest, AreThoseOfTheDesign) {
  const Bytes key = AsBytes("key");
  const Bytes value = AsBytes("value");
  std::byte buffer[64];
  auto put = [&] { EXPECT_TRUE(session_->PutBytes(key, value).ok()); };
  auto get = [&] { EXPECT_TRUE(session_->GetInto(key, buffer).ok()); };
  auto miss = [&] { EXPECT_EQ(session_->GetInto(key, buffer).outcome, Outcome::kNotFound); };
  auto remove = [&] { EXPECT_TRUE(session_->RemoveBytes(key).ok()); };
  // So that no block has to be asked for on the way.
  for (int i = 0; i < 30; ++i) put();
  remove();

  CountedPosts counter(GetParam());
  ASSERT_TRUE(counter.found());
  // Where the device has no atomics, the tail from the first one on is one SEND in the same post.
  const bool nic = counter.atomics();
  auto chain = [nic](int reads, int writes, int atomics, int reads_behind) {
    return nic ? Posted{1, reads + reads_behind, writes, atomics, 0}
               : Posted{1, reads, writes, 0, atomics != 0 ? 1 : 0};
  };
  auto sum = [](std::vector<Posted> chains) {
    Posted all;
    for (const Posted& one : chains) {
      all = {all.posts + one.posts, all.reads + one.reads, all.writes + one.writes,
             all.atomics + one.atomics, all.sends + one.sends};
    }
    return all;
  };
  session_->ForgetLocations();
  EXPECT_EQ(Cost(miss), chain(2, 0, 0, 0));
  EXPECT_EQ(Cost(put), sum({chain(0, 1, 1, 2), chain(0, 0, 2, 0)}));  // absent
  EXPECT_EQ(Cost(get), chain(2, 0, 0, 0));                            // known
  EXPECT_EQ(Cost(put), chain(0, 1, 1, 0));                            // known
  session_->ForgetLocations();
  EXPECT_EQ(Cost(get), sum({chain(2, 0, 0, 0), chain(1, 0, 0, 0)}));  // cold
  session_->ForgetLocations();
  EXPECT_EQ(Cost(put), sum({chain(0, 1, 1, 2), chain(1, 0, 0, 0), chain(0, 0, 2, 0)}));
  EXPECT_EQ(Cost(remove), chain(0, 0, 1, 0));  // known
  put();
  session_->ForgetLocations();
  EXPECT_EQ(Cost(remove), sum({chain(2, 0, 0, 0), chain(1, 0, 0, 0), chain(0, 0, 1, 0)}));
}

INSTANTIATE_TEST_SUITE_P(Devices, OperationCountsTest, ::testing::Values("rxe", "siw"),
                         [](const auto& device) { return device.param; });

}  // namespace
}  // namespace dunlin
