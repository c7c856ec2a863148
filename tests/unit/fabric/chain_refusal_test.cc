// Requests and replies that must not be believed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/chain_frames.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr uint64_t kRegionBytes = 8192;

struct Request {
  ChainRequest head{};
  std::vector<ChainWork> works;
  std::optional<ChainFollow> follow;
  std::optional<ChainSwing> swing;
  std::string key;
  size_t payload = 0;

  Request& Add(Verb verb, uint64_t remote, uint32_t length) {
    works.push_back({remote, static_cast<uint32_t>(verb), length, 0, 0});
    head.count = static_cast<uint32_t>(works.size());
    if (verb == Verb::kWrite) payload += length;
    return *this;
  }
  Bytes Body() const {
    const size_t works_end = sizeof head + works.size() * sizeof works[0];
    const size_t swing_at = works_end + (follow ? sizeof *follow : 0);
    const size_t key_at = swing_at + (swing ? sizeof *swing : 0);
    Bytes body(key_at + key.size() + payload);
    std::memcpy(body.data(), &head, sizeof head);
    if (!works.empty()) {
      std::memcpy(body.data() + sizeof head, works.data(), works.size() * sizeof works[0]);
    }
    if (follow) std::memcpy(body.data() + works_end, &*follow, sizeof *follow);
    if (swing) std::memcpy(body.data() + swing_at, &*swing, sizeof *swing);
    std::memcpy(body.data() + key_at, key.data(), key.size());
    return body;
  }
  std::string Parse(bool read_only = false) const {
    ReceivedChain received;
    return ParseChainRequest(Body(), kRegionBytes, read_only, &received);
  }
};

Request Good() {
  return Request().Add(Verb::kWrite, 0, 24).Add(Verb::kCompareSwap, 32, 8).Add(Verb::kRead, 0, 99);
}

TEST(ParseChainRequestTest, TakesAGoodOne) {
  ReceivedChain received;
  const Bytes body = Good().Body();
  ASSERT_EQ(ParseChainRequest(body, kRegionBytes, false, &received), "");
  EXPECT_EQ(received.chain.count, 3u);
  EXPECT_EQ(received.chain.writes, 1u);
  EXPECT_EQ(received.chain.atomics, 1u);
  EXPECT_FALSE(received.continues);
  EXPECT_EQ(received.reply_bytes, sizeof(ChainReply) + 8 + 99);
}

Request GoodFollow() {
  Request request = Request().Add(Verb::kRead, 0, 64).Add(Verb::kRead, 64, 64);
  request.head.flags = kChainFollows;
  request.follow = {4096, 4096, 5, 512, 80, 0};
  return request;
}

TEST(ParseChainRequestTest, TakesAWishThatRecordsBeReadAlong) {
  const Request request = GoodFollow();
  const Bytes body = request.Body();
  ReceivedChain received;
  ASSERT_EQ(ParseChainRequest(body, kRegionBytes, true, &received), "");
  const Follow& follow = received.chain.follow;
  EXPECT_TRUE(follow.wanted);
  EXPECT_EQ(follow.heap_start, 4096u);
  EXPECT_EQ(follow.heap_bytes, 4096u);
  EXPECT_EQ(follow.fingerprint, 5u);
  EXPECT_EQ(follow.whole_bytes, 512u);
  EXPECT_EQ(follow.head_bytes, 80u);
  EXPECT_EQ(received.reply_bytes, sizeof(ChainReply) + 128);
}

Request GoodSwing() {
  Request request = Request()
                        .Add(Verb::kWrite, 4096, 24)
                        .Add(Verb::kCompareSwap, 128, 8)
                        .Add(Verb::kRead, 128, 64)
                        .Add(Verb::kRead, 64, 64);
  request.head.flags = kChainSwings;
  request.follow = {4096, 4096, 5, 0, 80, 0};
  request.swing = {77, 3, 1};
  request.key = "abc";
  return request;
}

TEST(ParseChainRequestTest, TakesAWishThatASlotBeSwungAlong) {
  const Bytes body = GoodSwing().Body();
  ReceivedChain received;
  ASSERT_EQ(ParseChainRequest(body, kRegionBytes, false, &received), "");
  const Swing& swing = received.chain.follow.swing;
  EXPECT_TRUE(swing.wanted);
  EXPECT_TRUE(swing.replaces);
  EXPECT_EQ(swing.word, 77u);
  ASSERT_EQ(swing.key_bytes, 3u);
  EXPECT_EQ(std::memcmp(swing.key, "abc", 3), 0);
  EXPECT_NE(GoodSwing().Parse(/*read_only=*/true), "");
}

TEST(ParseChainRequestTest, RefusesASwingWithoutLockKeyOrBuckets) {
  const auto changed = [](const std::function<void(Request&)>& change) {
    Request request = GoodSwing();
    change(request);
    return request.Parse();
  };
  const auto with_key = [&](size_t bytes) {
    return changed([bytes](Request& r) {
      r.key.assign(bytes, 'k');
      r.swing->key_bytes = static_cast<uint32_t>(bytes);
      r.follow->head_bytes = 1024;
    });
  };
  EXPECT_EQ(changed([](Request&) {}), "");
  EXPECT_EQ(with_key(1), "");
  EXPECT_EQ(with_key(kMostSwingKeyBytes), "");
  EXPECT_NE(with_key(0), "");
  EXPECT_NE(with_key(kMostSwingKeyBytes + 1), "");
  EXPECT_NE(changed([](Request& r) { r.swing->key_bytes = ~0u; }), "");
  EXPECT_NE(changed([](Request& r) { r.swing->key_bytes = 4; }), "") << "cut short";
  EXPECT_NE(changed([](Request& r) { r.swing->replaces = 2; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow->head_bytes = 34; }), "") << "no room for the key";
  EXPECT_NE(changed([](Request& r) { r.works[1].remote = 64; }), "") << "another bucket's lock";
  EXPECT_NE(changed([](Request& r) { r.works[1].verb = static_cast<uint32_t>(Verb::kReadWord); }),
            "")
      << "no lock";
  EXPECT_NE(changed([](Request& r) { r.works[3].remote = 68; }), "");
  EXPECT_NE(changed([](Request& r) { r.works[3].length = 56; }), "") << "of two sizes";
  EXPECT_NE(changed([](Request& r) { r.works[2].length = r.works[3].length = 136; }), "");
  EXPECT_NE(changed([](Request& r) { r.works[2].length = r.works[3].length = 8; }), "");
  EXPECT_NE(changed([](Request& r) { r.head.flags = 4; }), "") << "without READs along";
  EXPECT_NE(changed([](Request& r) { r.head.flags = kChainFollows; }), "");
  EXPECT_NE(changed([](Request& r) { r.head.flags = kChainSwings | kChainContinues; }), "");
}

TEST(ParseChainRequestTest, RefusesAWishThatLeavesTheRegionOrIsTooMuch) {
  const auto changed = [](const std::function<void(Request&)>& change) {
    Request request = GoodFollow();
    change(request);
    return request.Parse();
  };
  EXPECT_EQ(changed([](Request&) {}), "");
  EXPECT_NE(changed([](Request& r) { ++r.follow->heap_bytes; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow->heap_start = kRegionBytes + 8; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow->heap_start = ~uint64_t{7}; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow->heap_start += 4; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow->whole_bytes = kMostFollowedBytes / 4 + 1; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow->head_bytes = ~0u; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow->reserved = 1; }), "");
  EXPECT_NE(changed([](Request& r) { r.head.flags = kChainFollows | kChainContinues; }), "");
  EXPECT_NE(changed([](Request& r) { r.follow.reset(); }), "");
  EXPECT_NE(changed([](Request& r) { r.head.flags = 0; }), "");
  EXPECT_NE(changed([](Request& r) { r.works[1].length = 60; }), "") << "no bucket";
  EXPECT_NE(changed([](Request& r) { r.Add(Verb::kReadWord, 0, 8); }), "") << "not the last two";
  EXPECT_NE(changed([](Request& r) {
              for (int i = 0; i < 3; ++i) r.Add(Verb::kRead, 0, 64);
            }),
            "")
      << "no room for the records";
}

TEST(ParseChainRequestTest, RefusesEveryBodyThatIsCutOrTooLong) {
  Bytes body = Good().Body();
  for (size_t bytes = 0; bytes < body.size(); ++bytes) {
    ReceivedChain received;
    EXPECT_NE(ParseChainRequest(std::span(body).first(bytes), kRegionBytes, false, &received), "")
        << bytes;
  }
  body.push_back(std::byte{0});
  ReceivedChain received;
  EXPECT_THAT(ParseChainRequest(body, kRegionBytes, false, &received), HasSubstr("expected"));
}

TEST(ParseChainRequestTest, SaysWhatItRefuses) {
  const auto changed = [](const std::function<void(Request&)>& change) {
    Request request = Good();
    change(request);
    return request.Parse();
  };
  EXPECT_THAT(changed([](Request& r) { r.head.count = 0; }), HasSubstr("0 verbs"));
  EXPECT_THAT(changed([](Request& r) { r.head.count = 9; }), HasSubstr("9 verbs"));
  EXPECT_THAT(changed([](Request& r) { r.head.count = 0xFFFFFFFF; }), HasSubstr("verbs"));
  EXPECT_THAT(changed([](Request& r) { r.head.flags = 4; }), HasSubstr("flags 4"));
  EXPECT_THAT(changed([](Request& r) { r.works[1].verb = 5; }), HasSubstr("no verb 5"));
  EXPECT_THAT(changed([](Request& r) { r.works[1].verb = 0x101; }), HasSubstr("no verb 257"));
  EXPECT_THAT(changed([](Request& r) { r.works[1].length = 4; }), HasSubstr("a word of 4 bytes"));
  EXPECT_THAT(changed([](Request& r) { r.works[1].length = 0; }), HasSubstr("a word of 0 bytes"));
  EXPECT_THAT(changed([](Request& r) { r.works[1].remote = 33; }), HasSubstr("not aligned"));
  EXPECT_THAT(changed([](Request& r) { r.works[1].remote = kRegionBytes; }),
              HasSubstr("outside the region"));
  EXPECT_THAT(changed([](Request& r) { r.works[0].remote = kRegionBytes - 23; }),
              HasSubstr("outside the region"));
  EXPECT_THAT(changed([](Request& r) { r.works[2].remote = ~uint64_t{0}; }),
              HasSubstr("outside the region"));
  EXPECT_THAT(changed([](Request& r) { r.works[2].length = 0xFFFFFFFF; }), HasSubstr("reads"));
  EXPECT_THAT(changed([](Request& r) { r.works[0].length = 0xFFFFFFFF; }), HasSubstr("expected"));
  EXPECT_THAT(changed([](Request& r) { r.head.flags = kChainContinues; }),
              HasSubstr("only WRITEs can be continued"));
  EXPECT_EQ(changed([](Request&) {}), "");
}

TEST(ParseChainRequestTest, RefusesReadsThatNoReplyHoldsTogether) {
  Request request;
  for (int i = 0; i < 8; ++i) request.Add(Verb::kRead, 0, 8000);
  EXPECT_EQ(request.Parse(), "");
  for (ChainWork& each : request.works) each.length = 1u << 18;
  EXPECT_THAT(request.Parse(), HasSubstr("at most"));
}

TEST(ParseChainRequestTest, ContinuedWritesAreTaken) {
  Request request;
  request.Add(Verb::kWrite, 0, 24).Add(Verb::kWrite, 24, 8);
  request.head.flags = kChainContinues;
  ReceivedChain received;
  const Bytes body = request.Body();
  EXPECT_EQ(ParseChainRequest(body, kRegionBytes, false, &received), "");
  EXPECT_TRUE(received.continues);
}

TEST(ParseChainRequestTest, ReadOnlySessionsOnlyRead) {
  EXPECT_EQ(Request().Add(Verb::kRead, 0, 24).Add(Verb::kReadWord, 8, 8).Parse(true), "");
  for (const Verb verb : {Verb::kWrite, Verb::kCompareSwap, Verb::kFetchAdd}) {
    EXPECT_THAT(Request().Add(Verb::kRead, 0, 24).Add(verb, 8, 8).Parse(true),
                HasSubstr("changes what it may only read"));
    EXPECT_EQ(Request().Add(Verb::kRead, 0, 24).Add(verb, 8, 8).Parse(false), "");
  }
}

// To [WRITE, CAS, READ of 24 bytes].
class ApplyChainReplyTest : public ::testing::Test {
 protected:
  ApplyChainReplyTest() : reply_(sizeof(ChainReply) + 8 + 24, std::byte{0x42}) {
    chain_.Write(0, 0, 24, nullptr, 0);
    chain_.CompareSwap(32, 0, 1).result = 5;
    chain_.Read(0, 24, 0).sink = sink_.data();
    const ChainReply head{0, 0};
    std::memcpy(reply_.data(), &head, sizeof head);
  }
  void ExpectUntouched() {
    EXPECT_EQ(chain_.work[1].result, 5u);
    EXPECT_EQ(sink_, Bytes(32));
  }

  Chain chain_;
  Bytes sink_ = Bytes(32);
  Bytes reply_;
};

TEST_F(ApplyChainReplyTest, TakesAGoodOne) {
  ASSERT_EQ(ApplyChainReply(chain_, 0, reply_), "");
  EXPECT_EQ(chain_.work[1].result, 0x4242424242424242u);
  EXPECT_EQ(std::count(sink_.begin(), sink_.end(), std::byte{0x42}), 24);
}

TEST_F(ApplyChainReplyTest, RefusesEveryOtherLength) {
  for (size_t bytes = 0; bytes < reply_.size() + 16; ++bytes) {
    if (bytes == reply_.size()) continue;
    Bytes other = reply_;
    other.resize(bytes);
    EXPECT_THAT(ApplyChainReply(chain_, 0, other), HasSubstr("expected 40 bytes")) << bytes;
  }
  ExpectUntouched();
}

TEST_F(ApplyChainReplyTest, RefusesOtherOutcomes) {
  for (size_t at = 0; at < sizeof(ChainReply); ++at) {
    Bytes other = reply_;
    other[at] = std::byte{1};
    EXPECT_THAT(ApplyChainReply(chain_, 0, other), HasSubstr("outcome")) << at;
  }
  ExpectUntouched();
}

}  // namespace
}  // namespace dunlin
