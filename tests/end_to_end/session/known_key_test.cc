#include "dunlin/known_key.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "dunlin/client.h"
#include "tests/support/store_fixture.h"

namespace dunlin {
namespace {

using Cost = std::pair<uint64_t, uint64_t>;  // round trips, verbs

class KnownKeyTest : public testing::StoreFixture {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(StartStore());
    other_ = Open();
  }

  static std::string Value(Session& session, KnownKey& key) {
    std::vector<std::byte> buffer(64);
    const GetResult got = session.GetKnown(key, buffer);
    if (!got.ok()) return "<" + std::string(OutcomeName(got.outcome)) + ">";
    return std::string(reinterpret_cast<char*>(buffer.data()), got.value_bytes);
  }
  std::string Value(KnownKey& key) { return Value(*session_, key); }
  Outcome Put(KnownKey& key, std::string_view value, PutOptions options = {}) {
    return session_->PutKnown(key, AsBytes(value), options).outcome;
  }
  Outcome PutElsewhere(std::string_view key, std::string_view value) {
    return other_->PutBytes(AsBytes(key), AsBytes(value)).outcome;
  }
  template <typename Call>
  Cost CostOf(Call&& call) {
    const Stats before = session_->stats();
    call();
    const Stats after = session_->stats();
    return {after.round_trips - before.round_trips, after.verbs - before.verbs};
  }
  bool mapped() const { return testing::FabricUnderTest().name == "shm"; }

  std::unique_ptr<Session> other_;
};

TEST_F(KnownKeyTest, GetsAndPutsLikeTheCallsByKey) {
  for (const size_t bytes : {1, 20, 21, 300}) {
    const std::string text(bytes, 'k');
    KnownKey key(AsBytes(text));
    EXPECT_EQ(Value(key), "<not found>");
    EXPECT_EQ(Put(key, "first"), Outcome::kOk);
    EXPECT_EQ(Value(key), "first");
    EXPECT_EQ(Put(key, "second"), Outcome::kOk);
    EXPECT_EQ(Put(key, "third", {.mode = PutMode::kIfAbsent}), Outcome::kExists);
    EXPECT_EQ(Value(key), "second");
    EXPECT_EQ(PutElsewhere(text, "other"), Outcome::kOk);
    EXPECT_EQ(Value(key), "other");
    EXPECT_EQ(PutElsewhere(text, "another"), Outcome::kOk);
    EXPECT_EQ(Put(key, "mine"), Outcome::kOk);
    std::string value;
    EXPECT_TRUE(other_->GetString(AsBytes(text), &value).ok());
    EXPECT_EQ(value, "mine");
    EXPECT_TRUE(other_->RemoveBytes(AsBytes(text)).ok());
    EXPECT_EQ(Value(key), "<not found>");
  }
}

TEST_F(KnownKeyTest, Refusals) {
  KnownKey none;
  EXPECT_EQ(Value(none), "<invalid argument>");
  EXPECT_EQ(Put(none, "v"), Outcome::kInvalidArgument);
  KnownKey key(AsBytes("k"));
  ASSERT_EQ(Put(key, "a value"), Outcome::kOk);
  std::vector<std::byte> small(3);
  const GetResult got = session_->GetKnown(key, small);
  EXPECT_EQ(got.outcome, Outcome::kBufferTooSmall);
  EXPECT_EQ(got.value_bytes, 7u);
  EXPECT_EQ(Put(key, "v", {.ttl = Milliseconds(0)}), Outcome::kInvalidArgument);
  // Of any length, and cut to one that is too long as well.
  KnownKey too_long(AsBytes(std::string(1'000'000, 'k')));
  EXPECT_EQ(Value(too_long), "<too large>");
  EXPECT_EQ(Put(too_long, "v"), Outcome::kTooLarge);
}

TEST_F(KnownKeyTest, CopiesAndMoves) {
  for (const size_t bytes : {20, 21}) {
    const std::string text(bytes, 'k');
    KnownKey key(AsBytes(text));
    ASSERT_EQ(Put(key, "v"), Outcome::kOk);
    KnownKey copy = key;
    KnownKey assigned(AsBytes(std::string(100, 'x')));
    assigned = copy;
    KnownKey& itself = assigned;
    assigned = itself;
    const KnownKey moved = std::move(copy);
    EXPECT_EQ(moved.bytes().size(), bytes);
    EXPECT_NE(assigned.bytes().data(), key.bytes().data());
    key = KnownKey();
    EXPECT_EQ(Value(assigned), "v");
    EXPECT_EQ(Value(key), "<invalid argument>");
  }
}

TEST_F(KnownKeyTest, CostsWhatAKnownLocationCosts) {
  if (!mapped()) GTEST_SKIP() << "the ordinary calls, where nothing is mapped";
  ASSERT_EQ(PutElsewhere("k", "v"), Outcome::kOk);
  KnownKey key(AsBytes("k"));
  auto get = [&] { EXPECT_EQ(Value(key), "v"); };
  auto put = [&] { EXPECT_EQ(Put(key, "v"), Outcome::kOk); };
  EXPECT_EQ(CostOf(get), Cost(2, 3));  // cold
  EXPECT_EQ(CostOf(get), Cost(1, 2));
  session_->ForgetLocations();  // the key keeps its own
  EXPECT_EQ(CostOf(get), Cost(1, 2));
  EXPECT_EQ(CostOf(put), Cost(1, 2));
  EXPECT_EQ(CostOf(put), Cost(1, 2));
  KnownKey copy = key;
  EXPECT_EQ(CostOf([&] { EXPECT_EQ(Value(copy), "v"); }), Cost(1, 2));
  key.Forget();
  EXPECT_EQ(CostOf(get), Cost(2, 3));
  // After a put that had to look for it.
  key.Forget();
  session_->ForgetLocations();
  EXPECT_EQ(CostOf(put), Cost(3, 7));
  session_->ForgetLocations();
  EXPECT_EQ(CostOf(put), Cost(1, 2));
  // What one session has learned is nothing to another.
  std::swap(session_, other_);
  EXPECT_EQ(CostOf(get), Cost(2, 3));
  EXPECT_EQ(CostOf(get), Cost(1, 2));
}

TEST_F(KnownKeyTest, ManyAtOnceAmongOthers) {
  constexpr size_t kKeys = 100;
  std::vector<std::string> texts;
  std::vector<KnownKey> keys;
  for (size_t i = 0; i < kKeys; ++i) texts.push_back("k" + std::to_string(i));
  for (const std::string& text : texts) {
    ASSERT_EQ(PutElsewhere(text, "value of " + text), Outcome::kOk);
    keys.emplace_back(AsBytes(text));
  }
  ASSERT_TRUE(other_->RemoveBytes(AsBytes(texts[31])).ok());
  std::vector<std::array<std::byte, 32>> buffers(kKeys);
  for (int round = 0; round < 3; ++round) {
    std::vector<GetRequest> gets(kKeys);
    for (size_t i = 0; i < kKeys; ++i) {
      gets[i].buffer = buffers[i];
      if (i % 3 == 0) {
        gets[i].key = AsBytes(texts[i]);
      } else {
        gets[i].known = &keys[i];
      }
    }
    const Cost cost = CostOf([&] { session_->MultiGet(gets); });
    if (mapped() && round != 0) {
      // Seven groups of sixteen, one of them with a key that is looked for; it is absent.
      EXPECT_EQ(cost, Cost(7 + 1 + 1, 2 * (kKeys - 1) + 2));
    }
    for (size_t i = 0; i < kKeys; ++i) {
      ASSERT_EQ(gets[i].result.outcome, i == 31 ? Outcome::kNotFound : Outcome::kOk) << i;
      if (i == 31) continue;
      const std::string value(reinterpret_cast<char*>(buffers[i].data()),
                              gets[i].result.value_bytes);
      ASSERT_EQ(value, "value of " + texts[i]);
    }
  }
}

TEST_F(KnownKeyTest, APlaceOfADeadServerIsNotBelieved) {
  KnownKey key(AsBytes("k"));
  ASSERT_EQ(Put(key, "v"), Outcome::kOk);
  ASSERT_EQ(Value(key), "v");
  other_.reset();
  server_->Kill();
  ASSERT_TRUE(server_->Restart().ok());
  const auto begin = std::chrono::steady_clock::now();
  std::string value = "v";
  while ((value == "v" || value == "<unavailable>") &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    value = Value(key);
  }
  EXPECT_EQ(value, "<not found>");
  EXPECT_EQ(Put(key, "w"), Outcome::kOk);
  EXPECT_EQ(Value(key), "w");
}

TEST_F(KnownKeyTest, TimeToLive) {
  KnownKey key(AsBytes("k"));
  ASSERT_EQ(Put(key, "v"), Outcome::kOk);
  ASSERT_EQ(Put(key, "w", {.ttl = Milliseconds(60'000)}), Outcome::kOk);
  std::vector<std::byte> buffer(8);
  const GetResult got = session_->GetKnown(key, buffer);
  ASSERT_TRUE(got.ok());
  ASSERT_TRUE(got.ttl_left.has_value());
  EXPECT_GT(*got.ttl_left, Milliseconds(0));
  EXPECT_LE(*got.ttl_left, Milliseconds(60'000));
  ASSERT_EQ(Put(key, "x", {.ttl = Milliseconds(1)}), Outcome::kOk);
  const auto begin = std::chrono::steady_clock::now();
  std::string value = "x";
  while (value == "x" && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    value = Value(key);
  }
  EXPECT_EQ(value, "<not found>");
  EXPECT_EQ(Put(key, "y"), Outcome::kOk);
  EXPECT_EQ(Value(key), "y");
}

}  // namespace
}  // namespace dunlin
