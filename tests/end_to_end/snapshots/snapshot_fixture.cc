#include "tests/end_to_end/snapshots/snapshot_fixture.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "common/base/clock.h"

namespace dunlin::testing {

int64_t NowNanos() { return SystemClock::Shared().NowNanos(); }

std::string SnapshotFixture::SnapshotPath(uint64_t id) const {
  char name[40];
  std::snprintf(name, sizeof name, "/snapshot-%020llu", static_cast<unsigned long long>(id));
  return dir() + name;
}

std::vector<std::string> SnapshotFixture::Arguments(const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {"--snapshot-dir", dir()};
  if (std::find(more.begin(), more.end(), "--snapshot-interval") == more.end()) {
    arguments.insert(arguments.end(), {"--snapshot-interval", "0"});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void SnapshotFixture::StartOn(const std::vector<std::string>& more, const std::string& memory) {
  Kill();
  ASSERT_NO_FATAL_FAILURE(StartStore(Arguments(more), memory));
}

void SnapshotFixture::Kill() {
  session_.reset();
  client_.reset();
  if (server_ != nullptr) server_->Kill();
}

int SnapshotFixture::Stop() {
  session_.reset();
  client_.reset();
  return server_->Terminate();
}

void SnapshotFixture::Crash(const std::vector<std::string>& more, const std::string& memory) {
  Kill();
  StartOn(more, memory);
}

SnapshotSummary SnapshotFixture::Create() {
  auto made = client_->CreateSnapshot(Milliseconds(60'000));
  EXPECT_TRUE(made.ok()) << made.status() << "\n" << server_->Log();
  return made.ok() ? *std::move(made) : SnapshotSummary();
}

ServerSnapshots SnapshotFixture::Snapshots() {
  auto status = client_->Status();
  EXPECT_TRUE(status.ok() && status->snapshots.has_value()) << status.status();
  return status.ok() ? status->snapshots.value_or(ServerSnapshots()) : ServerSnapshots();
}

void SnapshotFixture::Put(Records* records, const std::string& key, const std::string& value,
                          const PutOptions& options) {
  PutOptions patient = options;
  patient.deadline = Milliseconds(30'000);
  const auto version = session_->Put(key, value, patient);
  ASSERT_TRUE(version.ok()) << key << ": " << version.status();
  (*records)[key] = {value, *version, options.ttl, NowNanos()};
}

SnapshotFixture::Records SnapshotFixture::Scan() {
  Records records;
  for (uint64_t cursor = 0;;) {
    auto page = session_->Scan(cursor, {.deadline = Milliseconds(30'000)});
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok()) return records;
    for (ScanEntry& entry : page->entries) {
      records[entry.key] = {std::move(entry.value), entry.version, entry.ttl_left, NowNanos()};
    }
    if (page->done) return records;
    cursor = page->next;
  }
}

void SnapshotFixture::ExpectThere(const Records& records) {
  for (const auto& [key, record] : records) {
    const auto found = session_->Get(key, {.deadline = Milliseconds(30'000)});
    ASSERT_TRUE(found.ok()) << key << ": " << found.status() << "\n" << server_->Log();
    ASSERT_EQ(found->value.size(), record.value.size()) << key;
    ASSERT_TRUE(found->value == record.value) << key << " has another value";
    EXPECT_EQ(found->version, record.version) << key;
    ASSERT_EQ(found->ttl_left.has_value(), record.ttl_left.has_value()) << key;
    if (!record.ttl_left.has_value()) continue;
    const int64_t since = (NowNanos() - record.seen_nanos) / 1'000'000;
    EXPECT_NEAR(static_cast<double>(found->ttl_left->count()),
                static_cast<double>(record.ttl_left->count() - since), 1000.0)
        << key;
  }
}

kvctl::KvctlResult SnapshotFixture::Kvctl(const std::vector<std::string>& arguments,
                                          std::string_view input) const {
  return kvctl::RunKvctl(disk_.path(), arguments, input);
}

kvctl::KvctlResult SnapshotFixture::KvctlOnServer(std::vector<std::string> arguments,
                                                  std::string_view input) const {
  arguments.insert(arguments.begin(), {"--server", server_->target()});
  return Kvctl(arguments, input);
}

std::vector<std::string> FilesIn(const std::string& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(ending)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void FlipByte(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
  file.seekg(middle);
  const int byte = file.get();
  file.seekp(middle);
  file.put(static_cast<char>(byte ^ 0x10));
  file.close();
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace dunlin::testing
