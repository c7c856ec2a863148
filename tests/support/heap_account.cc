#include "tests/support/heap_account.h"

#include <poll.h>

#include <charconv>
#include <chrono>

#include "common/layout/record.h"
#include "common/layout/size_class.h"
#include "tests/support/stamped_value.h"

namespace dunlin::testing {
namespace {

void AddBytes(const ScanEntry& entry, HeapAccount* account) {
  const uint64_t bytes =
      RecordBytes(entry.key.size(), entry.value.size(), entry.ttl_left.has_value());
  const SizeClass size_class = ClassFor(bytes);
  const uint64_t block = size_class == kRunClass ? RunBytes(bytes) : BlockBytes(size_class);
  account->bytes += block;
}

bool IsInteger(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

void CheckEntry(const ScanEntry& entry, Session& session, HeapAccount* account) {
  if (!IsInteger(entry.value) && !StampOf(entry.key, entry.value).has_value()) {
    account->Fault(entry.key + " has a damaged value");
  }
  std::string value;
  const GetResult got = session.GetString(AsBytes(entry.key), &value);
  if (!got.ok() || got.version != entry.version || value != entry.value) {
    account->Fault(entry.key +
                   " is not what the scan returned: " + std::string(OutcomeName(got.outcome)));
  }
}

void CheckSums(HeapAccount* account) {
  const ServerStatus& status = account->status;
  const auto expect = [&](const std::string& what, uint64_t expected, uint64_t found) {
    if (expected == found) return;
    account->Fault(what + ": expected " + std::to_string(expected) + ", found " +
                   std::to_string(found));
  };
  expect("used + free + in grace + index", status.heap_bytes,
         status.heap_used_bytes + status.heap_free_bytes + status.heap_grace_bytes +
             status.heap_index_bytes);
  uint64_t in_classes = 0;
  account->blocks_in_use = 0;
  for (const ServerClassUse& use : status.classes) {
    in_classes += use.block_bytes == 0 ? use.bytes : use.blocks_used * use.block_bytes;
    account->blocks_in_use += use.blocks_used;
  }
  expect("bytes in use, by class", status.heap_used_bytes, in_classes);
  expect("blocks in use, by the records", account->records, account->blocks_in_use);
  if (account->oversize_bytes() < 0) {
    account->Fault("records take " + std::to_string(account->bytes) + " bytes, but only " +
                   std::to_string(status.heap_used_bytes) + " are in use");
  }
  expect("records", account->records, status.items);
  expect("locks", 0, status.locks_held);
}

HeapAccount ReadAll(Session& session, std::vector<std::string>* keys) {
  HeapAccount account;
  if (keys != nullptr) keys->clear();
  uint64_t cursor = 0;
  for (bool done = false; !done;) {
    auto page = session.Scan(cursor, {});
    if (!page.ok()) {
      account.Fault("the scan ended: " + page.status().ToString());
      return account;
    }
    for (const ScanEntry& entry : page->entries) {
      ++account.records;
      AddBytes(entry, &account);
      CheckEntry(entry, session, &account);
      if (keys != nullptr) keys->push_back(entry.key);
    }
    cursor = page->next;
    done = page->done;
  }
  return account;
}

bool SameUse(const ServerStatus& a, const ServerStatus& b) {
  return a.heap_used_bytes == b.heap_used_bytes && a.items == b.items && a.heap_grace_bytes == 0 &&
         b.heap_grace_bytes == 0 && a.evicted == b.evicted &&
         a.patrol.relocated == b.patrol.relocated && a.patrol.expired == b.patrol.expired;
}

}  // namespace

absl::StatusOr<ServerStatus> AwaitRest(Client& client, size_t own_sessions, Milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  absl::StatusOr<ServerStatus> status;
  for (bool swept = false; std::chrono::steady_clock::now() < end;) {
    status = client.Status(true);
    if (!status.ok()) return status;
    const bool recovered = status->sessions.size() <= own_sessions && status->locks_held == 0;
    if (recovered && !swept) {
      status = client.Sweep(patience);
      if (!status.ok()) return status;
      swept = true;
    } else if (recovered && status->heap_grace_bytes == 0) {
      return status;
    }
    poll(nullptr, 0, 10);
  }
  return absl::DeadlineExceededError(
      "the server is not at rest: " + std::to_string(status->sessions.size()) + " sessions, " +
      std::to_string(status->locks_held) + " locks, " + std::to_string(status->heap_grace_bytes) +
      " bytes in grace");
}

HeapAccount AccountForHeap(Client& client, Session& session, Milliseconds patience,
                           std::vector<std::string>* keys) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const absl::StatusOr<ServerStatus> before = client.Status(true);
    HeapAccount account = ReadAll(session, keys);
    const absl::StatusOr<ServerStatus> after = client.Status(true);
    if (!before.ok() || !after.ok()) {
      account.Fault("no status: " + before.status().ToString() + after.status().ToString());
      return account;
    }
    account.status = *after;
    const bool steady = SameUse(*before, *after);
    CheckSums(&account);
    const bool late = std::chrono::steady_clock::now() >= end;
    if (steady && account.faults.empty()) return account;
    if (late) {
      if (!steady) account.Fault("the server is still moving records");
      return account;
    }
    poll(nullptr, 0, 100);
  }
}

}  // namespace dunlin::testing
