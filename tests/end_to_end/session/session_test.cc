#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "dunlin/client.h"
#include "tests/support/store_fixture.h"

namespace dunlin {
namespace {

using testing::ServerProcess;

class SessionTest : public testing::StoreFixture {
 protected:
  void SetUp() override { StartStore(); }

  std::string Value(std::string_view key) {
    std::string value;
    GetResult got = session_->GetString(AsBytes(key), &value);
    return got.ok() ? value : "<" + std::string(OutcomeName(got.outcome)) + ">";
  }

  Outcome Put(std::string_view key, std::string_view value, PutOptions options = {}) {
    return session_->PutBytes(AsBytes(key), AsBytes(value), options).outcome;
  }

  const testing::TestFabric fabric_ = testing::FabricUnderTest();
};

TEST_F(SessionTest, PutGetRemove) {
  EXPECT_EQ(Value("a"), "<not found>");
  EXPECT_EQ(Put("a", "1"), Outcome::kOk);
  EXPECT_EQ(Value("a"), "1");
  EXPECT_EQ(Put("a", ""), Outcome::kOk);
  EXPECT_EQ(Value("a"), "");
  EXPECT_EQ(session_->RemoveBytes(AsBytes("a")).outcome, Outcome::kOk);
  EXPECT_EQ(Value("a"), "<not found>");
  EXPECT_EQ(session_->RemoveBytes(AsBytes("a")).outcome, Outcome::kNotFound);
}

TEST_F(SessionTest, Modes) {
  EXPECT_EQ(Put("k", "v", {.mode = PutMode::kIfPresent}), Outcome::kNotFound);
  EXPECT_EQ(Put("k", "v1", {.mode = PutMode::kIfAbsent}), Outcome::kOk);
  EXPECT_EQ(Put("k", "v2", {.mode = PutMode::kIfAbsent}), Outcome::kExists);
  EXPECT_EQ(Value("k"), "v1");
  EXPECT_EQ(Put("k", "v3", {.mode = PutMode::kIfPresent}), Outcome::kOk);
  EXPECT_EQ(Value("k"), "v3");
}

TEST_F(SessionTest, CompareAndSet) {
  WriteResult put = session_->PutBytes(AsBytes("k"), AsBytes("1"));
  WriteResult set = session_->CompareAndSet(AsBytes("k"), put.version, AsBytes("2"));
  ASSERT_TRUE(set.ok());
  EXPECT_NE(set.version, put.version);
  WriteResult stale = session_->CompareAndSet(AsBytes("k"), put.version, AsBytes("3"));
  EXPECT_EQ(stale.outcome, Outcome::kVersionMismatch);
  EXPECT_EQ(stale.version, set.version);
  EXPECT_EQ(Value("k"), "2");
  EXPECT_EQ(session_->CompareAndSet(AsBytes("none"), 7, AsBytes("x")).outcome, Outcome::kNotFound);
}

TEST_F(SessionTest, Add) {
  EXPECT_EQ(session_->Add(AsBytes("n"), 1).outcome, Outcome::kNotFound);
  AddOptions initial{.initial = 40};
  EXPECT_EQ(session_->Add(AsBytes("n"), 1, initial).sum, 41);
  EXPECT_EQ(session_->Add(AsBytes("n"), 1, initial).sum, 42);
  EXPECT_EQ(session_->Add(AsBytes("n"), -100).sum, -58);
  EXPECT_EQ(Value("n"), "-58");
  Put("n", "9223372036854775807");
  EXPECT_EQ(session_->Add(AsBytes("n"), 1).outcome, Outcome::kOverflow);
  EXPECT_EQ(Value("n"), "9223372036854775807");
  for (const char* text :
       {"", "x", "1 ", "1.5", "99999999999999999999", "123456789012345678901234"}) {
    Put("n", text);
    EXPECT_EQ(session_->Add(AsBytes("n"), 1).outcome, Outcome::kNotInteger) << text;
    EXPECT_EQ(Value("n"), text);
  }
}

TEST_F(SessionTest, TimeToLive) {
  Put("t", "v", {.ttl = Milliseconds(60'000)});
  std::string value;
  GetResult got = session_->GetString(AsBytes("t"), &value);
  ASSERT_TRUE(got.ttl_left.has_value());
  EXPECT_GT(got.ttl_left->count(), 30'000);
  EXPECT_LE(got.ttl_left->count(), 60'000);
  EXPECT_TRUE(session_->Touch(AsBytes("t"), std::nullopt).ok());
  EXPECT_FALSE(session_->GetString(AsBytes("t"), &value).ttl_left.has_value());
  EXPECT_EQ(value, "v");
  EXPECT_TRUE(session_->Touch(AsBytes("t"), Milliseconds(20)).ok());
  while (Value("t") == "v") {
  }
  EXPECT_EQ(Value("t"), "<not found>");
  EXPECT_EQ(session_->RemoveBytes(AsBytes("t")).outcome, Outcome::kNotFound);
  EXPECT_EQ(Put("t", "again", {.mode = PutMode::kIfAbsent}), Outcome::kOk);
  EXPECT_EQ(Value("t"), "again");
  EXPECT_EQ(Put("t", "v", {.ttl = Milliseconds(0)}), Outcome::kInvalidArgument);
}

TEST_F(SessionTest, LimitsAreExactAndTheOldValueStays) {
  StartStore({"--max-value-size", "1MiB"});
  EXPECT_EQ(session_->max_value_bytes(), 1u << 20);
  std::string key(65535, 'k');
  std::string largest(1u << 20, 'v');
  EXPECT_EQ(Put(key, largest), Outcome::kOk);
  EXPECT_EQ(Value(key), largest);
  EXPECT_EQ(Put(key, largest + "x"), Outcome::kTooLarge);
  EXPECT_EQ(Value(key), largest);
  EXPECT_EQ(Put(key + "k", "v"), Outcome::kTooLarge);
  EXPECT_EQ(Put("", "v"), Outcome::kInvalidArgument);
}

TEST_F(SessionTest, ValuesOfAllSizesAndKeysOfAnyBytes) {
  StartStore({}, "512MiB");
  Random random(7);
  std::vector<size_t> sizes = {0,
                               1,
                               7,
                               8,
                               9,
                               63,
                               64,
                               65,
                               1000,
                               4096,
                               32735,
                               32736,
                               32768,
                               32769,
                               65536,
                               1u << 20,
                               (1u << 20) + 1,
                               5u << 20,
                               64u << 20};
  // A sanitizer looks at each of these bytes on its way.
  session_ = Open({.default_deadline = Milliseconds(100'000)});
  for (size_t size : sizes) {
    std::string key("\0\xff\n", 3);
    key += std::to_string(size);
    std::string value(size, '\0');
    for (size_t i = 0; i < size; i += 997) value[i] = static_cast<char>(random());
    ASSERT_EQ(Put(key, value), Outcome::kOk) << size;
    session_->ForgetLocations();
    ASSERT_TRUE(Value(key) == value) << size;
    ASSERT_TRUE(Value(key) == value) << size;
    PinnedValue pinned;
    ASSERT_TRUE(session_->GetPinned(AsBytes(key), &pinned).ok());
    ASSERT_TRUE(std::equal(pinned.value().begin(), pinned.value().end(), AsBytes(value).begin(),
                           AsBytes(value).end()));
    ASSERT_TRUE(session_->Touch(AsBytes(key), Milliseconds(100'000)).ok()) << size;
    ASSERT_TRUE(Value(key) == value) << size;
  }
}

TEST_F(SessionTest, BufferTooSmallSaysWhatItTakes) {
  Put("k", "0123456789");
  std::byte buffer[4];
  GetResult got = session_->GetInto(AsBytes("k"), buffer);
  EXPECT_EQ(got.outcome, Outcome::kBufferTooSmall);
  EXPECT_EQ(got.value_bytes, 10u);
}

TEST_F(SessionTest, AgreesWithAMapOverManyRandomOperations) {
  std::map<std::string, std::string> model;
  Random random(11);
  for (int i = 0; i < 60'000; ++i) {
    std::string key = "key" + std::to_string(random() % 500);
    std::string value(random() % 300, static_cast<char>('a' + random() % 26));
    switch (random() % 6) {
      case 0:
      case 1:
        ASSERT_EQ(Put(key, value), Outcome::kOk);
        model[key] = value;
        break;
      case 2:
        ASSERT_EQ(session_->RemoveBytes(AsBytes(key)).outcome,
                  model.erase(key) ? Outcome::kOk : Outcome::kNotFound);
        break;
      case 3:
        if (random() % 50 == 0) session_->ForgetLocations();
        ASSERT_EQ(Put(key, value, {.mode = PutMode::kIfAbsent}),
                  model.contains(key) ? Outcome::kExists : Outcome::kOk);
        model.emplace(key, value);
        break;
      default:
        ASSERT_EQ(Value(key), model.contains(key) ? model[key] : "<not found>");
    }
  }
  auto status = client_->Status(true);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->items, model.size());
  EXPECT_EQ(status->locks_held, 0u);
}

TEST_F(SessionTest, ManyKeysAtOnce) {
  constexpr size_t kKeys = 5000;
  std::vector<std::string> keys, values;
  for (size_t i = 0; i < kKeys; ++i) {
    keys.push_back("k" + std::to_string(i));
    values.push_back("value " + std::to_string(i * 7));
  }
  std::vector<PutRequest> puts(kKeys);
  for (size_t i = 0; i < kKeys; ++i)
    puts[i].key = AsBytes(keys[i]), puts[i].value = AsBytes(values[i]);
  session_->MultiPut(puts);
  for (const PutRequest& put : puts) ASSERT_TRUE(put.result.ok());
  for (bool cold : {true, false}) {
    if (cold) session_->ForgetLocations();
    std::vector<std::array<std::byte, 32>> buffers(kKeys);
    std::vector<GetRequest> gets(kKeys);
    for (size_t i = 0; i < kKeys; ++i) gets[i].key = AsBytes(keys[i]), gets[i].buffer = buffers[i];
    session_->MultiGet(gets);
    for (size_t i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(gets[i].result.ok());
      ASSERT_EQ(std::string(reinterpret_cast<char*>(buffers[i].data()), gets[i].result.value_bytes),
                values[i]);
    }
  }
  std::vector<RemoveRequest> removes(kKeys);
  for (size_t i = 0; i < kKeys; ++i) removes[i].key = AsBytes(keys[i]);
  removes[17].key = {};
  session_->MultiRemove(removes);
  for (size_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(removes[i].result.outcome, i == 17 ? Outcome::kInvalidArgument : Outcome::kOk);
  }
  EXPECT_EQ(Value("k17"), values[17]);
  EXPECT_EQ(Value("k18"), "<not found>");
}

TEST_F(SessionTest, SubmittedOperations) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("s" + std::to_string(i));
  int done = 0;
  for (const std::string& key : keys) {
    while (!session_->SubmitPut(AsBytes(key), AsBytes(key), [&](const WriteResult& r) {
      EXPECT_TRUE(r.ok());
      ++done;
    })) {
      session_->Poll();
    }
  }
  session_->Drain();
  EXPECT_EQ(done, 1000);
  std::array<std::byte, 16> buffer;
  int chained = 0;
  std::function<void(const GetResult&)> next = [&](const GetResult& r) {
    EXPECT_TRUE(r.ok());
    if (++chained < 100) {
      EXPECT_TRUE(session_->SubmitGet(AsBytes(keys[chained]), buffer, next));
    }
  };
  EXPECT_TRUE(session_->SubmitGet(AsBytes(keys[0]), buffer, next));
  session_->Drain();
  EXPECT_EQ(chained, 100);
  Outcome refused = Outcome::kOk;
  EXPECT_TRUE(session_->SubmitGet({}, buffer, [&](const GetResult& r) { refused = r.outcome; }));
  EXPECT_EQ(refused, Outcome::kOk);
  session_->Poll();
  EXPECT_EQ(refused, Outcome::kInvalidArgument);
}

TEST_F(SessionTest, ScanSeesEveryKey) {
  std::set<std::string> keys;
  for (int i = 0; i < 3000; ++i) {
    std::string key = (i % 3 == 0 ? "a/" : "b/") + std::to_string(i);
    Put(key, "v" + key);
    keys.insert(key);
  }
  std::string large(100'000, 'L');
  Put("a/large", large);
  std::set<std::string> seen;
  uint64_t cursor = 0;
  for (;;) {
    auto page = session_->Scan(cursor);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const ScanEntry& e : page->entries) {
      EXPECT_EQ(e.value, e.key == "a/large" ? large : "v" + e.key);
      EXPECT_TRUE(seen.insert(e.key).second);
    }
    if (page->done) break;
    cursor = page->next;
  }
  keys.insert("a/large");
  EXPECT_EQ(seen, keys);
  ScanOptions only;
  only.prefix = "a/";
  only.limit = 1'000'000;
  EXPECT_EQ(session_->Scan(0, only)->entries.size(), 1001u);
}

TEST_F(SessionTest, MemoryFullIsTypedAndNothingIsLost) {
  StartStore({"--grace", "50ms"}, "8MiB");
  std::string value(4000, 'v');
  int stored = 0;
  Outcome outcome = Outcome::kOk;
  while ((outcome = Put("m" + std::to_string(stored), value)) == Outcome::kOk) ++stored;
  EXPECT_EQ(outcome, Outcome::kMemoryFull);
  EXPECT_GT(stored, 500);
  for (int i = 0; i < stored; ++i) ASSERT_EQ(Value("m" + std::to_string(i)), value);
  for (int i = 0; i < stored; ++i) {
    ASSERT_TRUE(session_->RemoveBytes(AsBytes("m" + std::to_string(i))).ok());
  }
  // What was removed serves again once the grace period is over.
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (Put("again", value) != Outcome::kOk && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_EQ(Value("again"), value);
}

TEST_F(SessionTest, RoundTripsAndVerbsAreThoseOfTheDesign) {
  auto cost = [&](auto&& call) {
    Stats before = session_->stats();
    call();
    Stats after = session_->stats();
    return std::pair(after.round_trips - before.round_trips, after.verbs - before.verbs);
  };
  using Cost = std::pair<uint64_t, uint64_t>;
  // Where the server carries chains out, records are read along with their buckets, and a put's
  // slot is swung along.
  const uint64_t along = testing::FabricUnderTest().name == "tcp" ? 1 : 0;
  auto put = [&] { Put("k", "v"); };
  auto get = [&] { Value("k"); };
  auto remove = [&] { session_->RemoveBytes(AsBytes("k")); };
  EXPECT_EQ(cost(put), Cost(2 - along, 6));  // absent: WRITE CAS READ READ, CAS CAS
  EXPECT_EQ(cost(get), Cost(1, 2));          // known
  EXPECT_EQ(cost(put), Cost(1, 2));          // known: WRITE CAS
  session_->ForgetLocations();
  EXPECT_EQ(cost(get), Cost(2 - along, 3));  // cold: READ READ, READ
  session_->ForgetLocations();
  EXPECT_EQ(cost(put),
            Cost(3 - 2 * along, 7));    // cold, present: WRITE CAS READ READ, READ, CAS CAS
  EXPECT_EQ(cost(remove), Cost(1, 1));  // known: CAS
  EXPECT_EQ(cost(get), Cost(1, 2));     // cold, absent
  put();
  session_->ForgetLocations();
  EXPECT_EQ(cost(remove), Cost(3 - along, 4));  // cold: READ READ, READ, CAS
}

TEST_F(SessionTest, EightWritersOfOneKeyAgree) {
  Put("n", "0");
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto session = client_->OpenSession();
      if (!session.ok()) {
        ++failures;
        return;
      }
      for (int i = 0; i < 500; ++i) {
        WriteResult r = (*session)->Add(AsBytes("n"), 1, {.deadline = Milliseconds(20'000)});
        if (!r.ok()) ++failures;
        std::string key = "hot" + std::to_string(i % 7);
        std::string text = std::to_string(t) + ":" + std::to_string(i);
        if (!(*session)
                 ->PutBytes(AsBytes(key), AsBytes(text), {.deadline = Milliseconds(20'000)})
                 .ok()) {
          ++failures;
        }
        if (i % 5 == 0) (*session)->RemoveBytes(AsBytes(key), {Milliseconds(20'000)});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Value("n"), "4000");
  auto status = client_->Status(true);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->locks_held, 0u);
  std::set<std::string> seen;
  ScanOptions all;
  all.limit = 1000;
  auto page = session_->Scan(0, all);
  ASSERT_TRUE(page.ok());
  for (const ScanEntry& e : page->entries) EXPECT_TRUE(seen.insert(e.key).second) << e.key;
}

TEST_F(SessionTest, ReadOnlySessionsReadAndCannotWrite) {
  Put("k", "v");
  Put("t", "v", {.ttl = Milliseconds(5)});
  auto reader = Client::Connect(server_->target(), {.read_only = true});
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto session = (*reader)->OpenSession();
  ASSERT_TRUE(session.ok()) << session.status();
  std::string value;
  EXPECT_TRUE((*session)->GetString(AsBytes("k"), &value).ok());
  EXPECT_EQ(value, "v");
  EXPECT_EQ((*session)->PutBytes(AsBytes("k"), AsBytes("x")).outcome, Outcome::kPermissionDenied);
  EXPECT_EQ((*session)->RemoveBytes(AsBytes("k")).outcome, Outcome::kPermissionDenied);
  while ((*session)->GetString(AsBytes("t"), &value).ok()) {
  }
  EXPECT_EQ((*session)->GetString(AsBytes("t"), &value).outcome, Outcome::kNotFound);
  EXPECT_EQ(Value("k"), "v");
}

TEST_F(SessionTest, ADeadServerIsNoticed) {
  Put("k", "v");
  server_->Kill();
  auto killed = std::chrono::steady_clock::now();
  std::string value;
  GetResult got;
  do {
    got = session_->GetString(AsBytes("k"), &value);
  } while (got.ok() && std::chrono::steady_clock::now() - killed < std::chrono::seconds(10));
  EXPECT_EQ(got.outcome, Outcome::kUnavailable);
  EXPECT_EQ(Put("k", "w"), Outcome::kUnavailable);
  EXPECT_EQ(Put("new", "w"), Outcome::kUnavailable);
}

TEST_F(SessionTest, RefusesUseAfterFork) {
  Put("k", "v");
  pid_t child = fork();
  if (child == 0) {
    std::string value;
    bool refused = session_->GetString(AsBytes("k"), &value).outcome == Outcome::kForked &&
                   session_->PutBytes(AsBytes("k"), AsBytes("x")).outcome == Outcome::kForked &&
                   session_->RemoveBytes(AsBytes("k")).outcome == Outcome::kForked;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(Value("k"), "v");
}

TEST_F(SessionTest, APinnedValueOutlivesItsRemoval) {
  StartStore({"--grace", "20ms"}, "16MiB");
  std::string value(1000, 'p');
  Put("pinned", value);
  PinnedValue pinned;
  ASSERT_TRUE(session_->GetPinned(AsBytes("pinned"), &pinned).ok());
  auto other = Open();
  ASSERT_TRUE(other->RemoveBytes(AsBytes("pinned")).ok());
  std::string noise(1000, 'n');
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    std::string key = "x" + std::to_string(i % 50);
    other->PutBytes(AsBytes(key), AsBytes(noise));
  }
  EXPECT_TRUE(std::equal(pinned.value().begin(), pinned.value().end(), AsBytes(value).begin(),
                         AsBytes(value).end()));
}

TEST_F(SessionTest, GetsCostTheServerNothing) {
  if (fabric_.name == "tcp") GTEST_SKIP() << "over TCP the server executes every operation";
  Put("k", "v");
  std::byte buffer[16];
  auto span = [&](auto&& body) {
    int64_t before = server_->CpuNanos();
    auto begin = std::chrono::steady_clock::now();
    body();
    return std::pair(server_->CpuNanos() - before, std::chrono::steady_clock::now() - begin);
  };
  // Where the kernel counts in ticks of 10 ms, one may fall on an idle server's wake-up by chance.
  // A server that gets cost something pays each time.
  constexpr int kTries = 3;
  for (int left = kTries; left > 0; --left) {
    const auto [busy, busy_time] = span([&] {
      const int gets = fabric_.name == "shm" ? 1'000'000 : 10'000;
      for (int i = 0; i < gets; ++i) session_->GetInto(AsBytes("k"), buffer);
    });
    // sleeps to measure what the server costs over the same time with nobody calling
    const auto [idle, idle_time] = span([time = busy_time] { std::this_thread::sleep_for(time); });
    const double idle_rate = static_cast<double>(idle) / static_cast<double>(idle_time.count());
    const double allowed = idle_rate * static_cast<double>(busy_time.count()) + 10'000'000;
    if (static_cast<double>(busy) <= allowed) return;
    if (left == 1) FAIL() << "gets cost " << busy << " ns of " << allowed << " allowed";
  }
}

}  // namespace
}  // namespace dunlin
