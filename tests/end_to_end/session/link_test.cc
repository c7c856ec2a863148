#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

#include "dunlin/client.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/store_fixture.h"

// What a session does when its connection is lost: over the fabric under test, and over TCP with a
// relay that cuts it at every byte.

namespace dunlin {
namespace {

using std::chrono::steady_clock;
using testing::CuttingProxy;
using testing::ServerProcess;

constexpr Milliseconds kPatience{10'000};

Outcome Get(Session& session, std::string_view key, std::string* value) {
  return session.GetString(AsBytes(key), value).outcome;
}
Outcome Put(Session& session, std::string_view key, std::string_view value) {
  return session.PutBytes(AsBytes(key), AsBytes(value)).outcome;
}

// Until the session is connected again; what the call answered then.
Outcome GetAgain(Session& session, std::string_view key, std::string* value) {
  Outcome outcome = Outcome::kUnavailable;
  for (auto end = steady_clock::now() + kPatience; steady_clock::now() < end;) {
    outcome = Get(session, key, value);
    if (outcome != Outcome::kUnavailable) break;
  }
  return outcome;
}

class LinkTest : public testing::StoreFixture {
 protected:
  void SetUp() override { StartStore(); }

  std::string value_;
};

TEST_F(LinkTest, ADeadServerIsAnErrorAtOnceAndNotAMiss) {
  ASSERT_EQ(Put(*session_, "k", "v"), Outcome::kOk);
  server_->Kill();
  const auto begin = steady_clock::now();
  Outcome outcome = Outcome::kOk;
  // On shared memory calls go on in the mapping until the hang-up is noticed.
  while (outcome == Outcome::kOk && steady_clock::now() - begin < kPatience) {
    outcome = Get(*session_, "k", &value_);
  }
  EXPECT_EQ(outcome, Outcome::kUnavailable);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(Put(*session_, "k", "w"), Outcome::kUnavailable);
  EXPECT_FALSE(session_->connection().ok());
}

TEST_F(LinkTest, AfterARestartTheSessionGoesOnWithTheNewServer) {
  ASSERT_EQ(Put(*session_, "k", "v"), Outcome::kOk);
  ASSERT_EQ(Get(*session_, "k", &value_), Outcome::kOk);
  server_->Kill();
  ASSERT_TRUE(server_->Restart().ok());
  // The new server's sessions have the numbers of the old one's.
  auto others = Client::Connect(server_->target());
  ASSERT_TRUE(others.ok()) << others.status();
  std::vector<std::unique_ptr<Session>> open;
  for (int i = 0; i < 4; ++i) open.push_back((*others)->OpenSession().value());
  const auto begin = steady_clock::now();
  Outcome outcome = Outcome::kOk;
  while ((outcome == Outcome::kOk || outcome == Outcome::kUnavailable) &&
         steady_clock::now() - begin < kPatience) {
    outcome = Get(*session_, "k", &value_);
  }
  // The new server has none of the old one's records, and no location of it is believed.
  EXPECT_EQ(outcome, Outcome::kNotFound) << session_->connection();
  EXPECT_EQ(Put(*session_, "k", "w"), Outcome::kOk);
  EXPECT_EQ(Get(*session_, "k", &value_), Outcome::kOk);
  EXPECT_EQ(value_, "w");
  EXPECT_GE(session_->stats().reconnects, 1u);
}

TEST_F(LinkTest, ABatchInFlightEndsWhenTheServerDies) {
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back("k" + std::to_string(i));
  std::vector<PutRequest> puts(keys.size());
  for (size_t i = 0; i < keys.size(); ++i)
    puts[i] = {.key = AsBytes(keys[i]), .value = AsBytes(keys[i])};
  session_->MultiPut(puts);
  std::thread killer([&] { server_->Kill(); });
  const auto begin = steady_clock::now();
  bool failed = false;
  while (!failed && steady_clock::now() - begin < kPatience) {
    session_->MultiPut(puts);
    for (const PutRequest& put : puts) {
      ASSERT_TRUE(put.result.ok() || put.result.outcome == Outcome::kUnavailable ||
                  put.result.outcome == Outcome::kUnknown)
          << OutcomeName(put.result.outcome);
      failed |= !put.result.ok();
    }
  }
  killer.join();
  EXPECT_TRUE(failed);
}

TEST_F(LinkTest, AnIdleSessionNoticesADeadServer) {
  ASSERT_EQ(Put(*session_, "k", "v"), Outcome::kOk);
  server_->Kill();
  // sleeps to be idle for as long as the client may take to notice
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_FALSE(session_->connection().ok());
  const auto begin = steady_clock::now();
  EXPECT_EQ(session_->GetString(AsBytes("k"), &value_, {.deadline = Milliseconds(30'000)}).outcome,
            Outcome::kUnavailable);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST_F(LinkTest, AServerThatHangsIsNoticedByAnIdleSession) {
  if (testing::FabricUnderTest().name != "tcp") {
    GTEST_SKIP() << "a server that hangs hinders no one-sided operation";
  }
  ASSERT_EQ(Put(*session_, "k", "v"), Outcome::kOk);
  ASSERT_EQ(kill(server_->pid(), SIGSTOP), 0);
  // sleeps to be idle for longer than the client may take to notice
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto begin = steady_clock::now();
  EXPECT_EQ(session_->GetString(AsBytes("k"), &value_, {.deadline = Milliseconds(30'000)}).outcome,
            Outcome::kUnavailable);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
  // A call's own deadline holds while it looks for the server.
  for (const int64_t deadline : {0, 1, 50}) {
    const auto start = steady_clock::now();
    EXPECT_FALSE(
        session_->PutBytes(AsBytes("k"), AsBytes("v"), {.deadline = Milliseconds(deadline)}).ok());
    EXPECT_LT(steady_clock::now() - start, std::chrono::milliseconds(deadline + 300));
  }
  ASSERT_EQ(kill(server_->pid(), SIGCONT), 0);
  EXPECT_EQ(GetAgain(*session_, "k", &value_), Outcome::kOk);
  EXPECT_EQ(value_, "v");
}

// Over TCP whatever the fabric under test: only a relay can cut at a given byte.
class CutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::FabricUnderTest().name != "tcp") GTEST_SKIP() << "over TCP only";
    auto server = ServerProcess::Start({.binary = DUNLIN_SERVER_BINARY,
                                        .memory = "64MiB",
                                        .more = {},
                                        .fabric = {"tcp", "127.0.0.1"}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const std::string target = server_->target();
    proxy_ = std::make_unique<CuttingProxy>(target.substr(target.rfind(':') + 1));
    direct_ = Connect(target);
    cut_ = Connect(proxy_->target());
    ASSERT_NE(direct_, nullptr);
    ASSERT_NE(cut_, nullptr);
  }

  std::unique_ptr<Session> Connect(const std::string& target) {
    ClientOptions options;
    options.server_timeout = Milliseconds(0);
    auto client = Client::Connect(target, options);
    EXPECT_TRUE(client.ok()) << client.status();
    if (!client.ok()) return nullptr;
    clients_.push_back(std::move(*client));
    auto session = clients_.back()->OpenSession();
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? std::move(*session) : nullptr;
  }

  // As soon as the back-off lets it.
  void Reconnected() {
    std::string ignored;
    ASSERT_NE(GetAgain(*cut_, "none", &ignored), Outcome::kUnavailable);
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<CuttingProxy> proxy_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<Session> direct_;
  std::unique_ptr<Session> cut_;
};

// Each byte of a put's messages is once the last that gets through.
TEST_F(CutTest, APutIsDoneOrNotAsItSays) {
  int resolved = 0;
  std::string value;
  for (int cut = 0; cut < 700; cut += 7) {
    const std::string before = "b" + std::to_string(cut);
    const std::string after = "a" + std::to_string(cut);
    const std::string key = cut % 2 == 0 ? "known" : "new" + std::to_string(cut);
    if (cut % 2 == 0) {
      ASSERT_EQ(Put(*cut_, key, before), Outcome::kOk);
    }
    proxy_->CutAfter(static_cast<uint64_t>(cut));
    const Outcome outcome = Put(*cut_, key, after);
    ASSERT_NO_FATAL_FAILURE(Reconnected());
    const Outcome read = Get(*direct_, key, &value);
    const bool there = read == Outcome::kOk && value == after;
    switch (outcome) {
      case Outcome::kOk:
        EXPECT_TRUE(there) << cut << " " << OutcomeName(read) << " " << value;
        break;
      case Outcome::kUnavailable:
        EXPECT_FALSE(there) << cut;
        break;
      default:
        EXPECT_EQ(outcome, Outcome::kUnknown) << cut << " " << OutcomeName(outcome);
    }
    resolved = static_cast<int>(cut_->stats().resolved);
  }
  EXPECT_GT(resolved, 10);
  EXPECT_GT(cut_->stats().reconnects, 10u);
}

TEST_F(CutTest, AnAdditionIsNeverAppliedTwice) {
  ASSERT_TRUE(cut_->Add(AsBytes("n"), 0, {.initial = 0}).ok());
  int64_t done = 0;
  int64_t unknown = 0;
  for (int cut = 0; cut < 500; cut += 3) {
    proxy_->CutAfter(static_cast<uint64_t>(cut));
    const WriteResult added = cut_->Add(AsBytes("n"), 1);
    done += added.ok();
    unknown += added.outcome == Outcome::kUnknown;
    ASSERT_TRUE(added.ok() || added.outcome == Outcome::kUnknown ||
                added.outcome == Outcome::kUnavailable)
        << OutcomeName(added.outcome);
    ASSERT_NO_FATAL_FAILURE(Reconnected());
  }
  std::string text;
  ASSERT_EQ(Get(*direct_, "n", &text), Outcome::kOk);
  EXPECT_GE(std::stoll(text), done);
  EXPECT_LE(std::stoll(text), done + unknown);
  EXPECT_GT(done, 0);
}

TEST_F(CutTest, ANetworkThatFallsSilentEndsACallAtItsDeadline) {
  std::string value;
  ASSERT_EQ(Put(*cut_, "k", "v"), Outcome::kOk);
  proxy_->Silence(true);
  const auto begin = steady_clock::now();
  const CallOptions options{.deadline = Milliseconds(200)};
  EXPECT_EQ(cut_->GetString(AsBytes("k"), &value, options).outcome, Outcome::kDeadlineExceeded);
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(2));
  proxy_->Silence(false);
  proxy_->CutAfter(0);
  EXPECT_EQ(GetAgain(*cut_, "k", &value), Outcome::kOk);
}

TEST_F(CutTest, WhatALostSessionHeldIsTakenBack) {
  for (int i = 0; i < 200; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ(Put(*cut_, key, std::string(500, 'x')), Outcome::kOk);
    proxy_->CutAfter(static_cast<uint64_t>(i * 3));
    Put(*cut_, key, std::string(500, 'y'));
    ASSERT_NO_FATAL_FAILURE(Reconnected());
  }
  for (auto end = steady_clock::now() + kPatience; steady_clock::now() < end;) {
    auto status = clients_.front()->Status(true);
    ASSERT_TRUE(status.ok()) << status.status();
    if (status->sessions.size() == 2 && status->locks_held == 0) return;
  }
  FAIL() << "sessions or locks of lost connections are still there";
}

}  // namespace
}  // namespace dunlin
