#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/kvbench/bindings/bindings.h"
#include "common/base/unique_fd.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::kvbench {
namespace {

using ::testing::HasSubstr;

// What hangs up instead of an answer.
constexpr std::string_view kHangUp = "hang up";

// Answers whatever arrives in one piece with what `answer` says, byte by byte.
class FakeServer {
 public:
  using Answer = std::function<std::string(std::string_view)>;

  explicit FakeServer(Answer answer) : answer_(std::move(answer)), end_(eventfd(0, EFD_CLOEXEC)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    listener_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~FakeServer() {
    EXPECT_EQ(eventfd_write(end_.get(), 1), 0);
    thread_.join();
  }
  std::string path() const { return folder_.path() + "/fake.sock"; }

 private:
  void Run() {
    std::vector<UniqueFd> clients;
    for (;;) {
      std::vector<pollfd> waits = {{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const UniqueFd& client : clients) waits.push_back({client.get(), POLLIN, 0});
      poll(waits.data(), waits.size(), -1);
      if (waits[0].revents != 0) return;
      for (size_t i = 0; i < clients.size(); ++i) {
        if (waits[2 + i].revents != 0) Serve(clients[i]);
      }
      std::erase_if(clients, [](const UniqueFd& client) { return !client.valid(); });
      if (waits[1].revents != 0) {
        clients.emplace_back(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      }
    }
  }

  void Serve(UniqueFd& client) {
    char bytes[4096];
    const ssize_t got = recv(client.get(), bytes, sizeof bytes, 0);
    if (got <= 0) return client.Reset();
    const std::string answer = answer_({bytes, static_cast<size_t>(got)});
    const std::string_view text = std::string_view(answer).substr(0, answer.find(kHangUp));
    for (const char byte : text) {
      if (send(client.get(), &byte, 1, MSG_NOSIGNAL) != 1) return client.Reset();
    }
    if (text.size() != answer.size()) client.Reset();
  }

  const dunlin::testing::TemporaryFolder folder_;
  const Answer answer_;
  UniqueFd listener_;
  UniqueFd end_;
  std::thread thread_;
};

struct Call {
  std::vector<Request> requests;
  std::string error;
};

Call CallWith(BindingSession& session, std::vector<Request> requests) {
  session.Execute(requests);
  return {requests, session.last_error()};
}

// A session with a server of which only the protocol is real.
class HostileTest : public ::testing::Test {
 protected:
  // `answers`: one for each call, then `missing` for ever.
  static FakeServer::Answer InTurn(std::vector<std::string> answers, std::string missing) {
    return [answers = std::move(answers), missing = std::move(missing),
            next = size_t{0}](std::string_view) mutable {
      return next < answers.size() ? answers[next++] : missing;
    };
  }
  void OpenOn(absl::StatusOr<std::unique_ptr<Binding>> binding) {
    ASSERT_TRUE(binding.ok()) << binding.status();
    binding_ = *std::move(binding);
    auto session = binding_->Open();
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }
  Call Read() { return CallWith(*session_, {{.op = Op::kRead, .key = "k"}}); }

  std::unique_ptr<FakeServer> server_;
  std::unique_ptr<Binding> binding_;
  std::unique_ptr<BindingSession> session_;
};

#if KVBENCH_MEMCACHED
class HostileMemcachedTest : public HostileTest {
 protected:
  void Start(std::vector<std::string> answers, const char* timeout_ms = "20000") {
    server_ = std::make_unique<FakeServer>(
        [in_turn = InTurn(std::move(answers), "EN\r\n")](std::string_view asked) {
          if (asked.starts_with("stats")) return std::string("STAT version 9\r\nEND\r\n");
          return in_turn(asked);
        });
    Properties properties;
    properties.Set("memcached.socket", server_->path());
    properties.Set("memcached.client", "direct");
    properties.Set("memcached.opTimeoutMillis", timeout_ms);
    OpenOn(MakeMemcached(properties));
  }
};

TEST_F(HostileMemcachedTest, AnswersInPieces) {
  Start({"VA 5\r\nhello\r\n"});
  const Call call = Read();
  EXPECT_EQ(call.requests[0].returned, Return::kOk) << call.error;
  EXPECT_EQ(call.requests[0].found, "hello");
}

TEST_F(HostileMemcachedTest, NonsenseEndsTheConnectionAndNotTheSession) {
  for (const char* answer : {"VA 99999999999999999999999\r\n", "VA 18446744073709551615\r\n",
                             "VA x\r\n", "VA 5\r\nhelloXX", "VA 5\r\nhelhang up", "hang up"}) {
    Start({answer});
    const Call call = Read();
    EXPECT_EQ(call.requests[0].returned, Return::kError) << answer;
    EXPECT_THAT(call.error, HasSubstr("fake.sock")) << answer;
    EXPECT_EQ(Read().requests[0].returned, Return::kNotFound) << answer;
  }
}

TEST_F(HostileMemcachedTest, ErrorOfOneRequestIsItsAlone) {
  Start({"SERVER_ERROR out of memory\r\nVA 1\r\nx\r\n"});
  const Call call =
      CallWith(*session_, {{.op = Op::kRead, .key = "a"}, {.op = Op::kRead, .key = "b"}});
  EXPECT_EQ(call.requests[0].returned, Return::kError);
  EXPECT_EQ(call.requests[1].returned, Return::kOk);
  EXPECT_EQ(call.requests[1].found, "x");
  EXPECT_THAT(call.error, HasSubstr("out of memory"));
}

TEST_F(HostileMemcachedTest, SilenceIsNotWaitedForForever) {
  Start({""}, "1000");
  const Call call = Read();
  EXPECT_EQ(call.requests[0].returned, Return::kError);
  EXPECT_THAT(call.error, HasSubstr("no answer in time"));
  EXPECT_EQ(Read().requests[0].returned, Return::kNotFound);
}
#endif

#if KVBENCH_REDIS
class HostileRedisTest : public HostileTest {
 protected:
  static void SetUpTestSuite() { signal(SIGPIPE, SIG_IGN); }

  void Start(std::vector<std::string> answers, const char* timeout_ms = "20000") {
    server_ = std::make_unique<FakeServer>(
        [in_turn = InTurn(std::move(answers), "$-1\r\n")](std::string_view asked) {
          if (asked.find("INFO") != std::string_view::npos) {
            return std::string("$24\r\n\r\nredis_version:9.9.9\r\nx\r\n");
          }
          return in_turn(asked);
        });
    Properties properties;
    properties.Set("redis.socket", server_->path());
    properties.Set("redis.timeout", timeout_ms);
    OpenOn(MakeRedis(properties));
  }
};

TEST_F(HostileRedisTest, AnswersInPieces) {
  Start({"*3\r\n$5\r\nhello\r\n$-1\r\n$0\r\n\r\n"});
  EXPECT_THAT(binding_->Describe(), HasSubstr("redis 9.9.9"));
  const Call call = CallWith(*session_, {{.op = Op::kRead, .key = "a"},
                                         {.op = Op::kRead, .key = "b"},
                                         {.op = Op::kRead, .key = "c"}});
  EXPECT_EQ(call.requests[0].found, "hello");
  EXPECT_EQ(call.requests[1].returned, Return::kNotFound);
  EXPECT_EQ(call.requests[2].returned, Return::kOk);
  EXPECT_EQ(call.requests[2].found, "");
}

TEST_F(HostileRedisTest, WholeMgetRefused) {
  Start({"-ERR not now\r\n+OK\r\n"});
  const Call call = CallWith(*session_, {{.op = Op::kRead, .key = "a"},
                                         {.op = Op::kRead, .key = "b"},
                                         {.op = Op::kUpdate, .key = "c", .value = "v"}});
  for (const Request& request : call.requests) EXPECT_EQ(request.returned, Return::kError);
  EXPECT_EQ(call.error, "ERR not now");
}

TEST_F(HostileRedisTest, ErrorOfOneRequestIsItsAlone) {
  Start({"$1\r\nx\r\n-OOM command not allowed\r\n"});
  const Call call = CallWith(
      *session_, {{.op = Op::kUpdate, .key = "a", .value = "v"}, {.op = Op::kRead, .key = "b"}});
  EXPECT_EQ(call.requests[0].returned, Return::kError);
  EXPECT_EQ(call.requests[1].found, "x");
  EXPECT_THAT(call.error, HasSubstr("OOM"));
}

TEST_F(HostileRedisTest, NonsenseEndsTheConnectionAndNotTheSession) {
  for (const char* answer : {"?what\r\n", "$5\r\nhelhang up", "hang up"}) {
    Start({answer});
    const Call call = Read();
    EXPECT_EQ(call.requests[0].returned, Return::kError) << answer;
    EXPECT_THAT(call.error, HasSubstr("fake.sock")) << answer;
    EXPECT_EQ(Read().requests[0].returned, Return::kNotFound) << answer;
  }
}

TEST_F(HostileRedisTest, SilenceIsNotWaitedForForever) {
  Start({""}, "1000");
  EXPECT_EQ(Read().requests[0].returned, Return::kError);
  EXPECT_EQ(Read().requests[0].returned, Return::kNotFound);
}
#endif

}  // namespace
}  // namespace dunlin::kvbench
