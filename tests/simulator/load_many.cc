#include <deque>
#include <map>
#include <utility>

#include "common/base/check.h"
#include "tests/simulator/contents.h"
#include "tests/simulator/load.h"

namespace dunlin::simulator {
namespace {

using linearizability::Value;

constexpr uint64_t kLargestBatch = 12;
constexpr size_t kBuffer = 512;

}  // namespace

// One of several that are under way at once. The session reads and writes its strings.
struct Load::Item {
  uint32_t key = 0;
  std::string name;
  std::string value;
  Operation operation;
  size_t call = 0;
};

Load::Item Load::SomeItem(Kind kind) {
  Item item;
  item.key = SomeKey();
  item.name = KeyName(item.key);
  item.operation = Invoke(kind);
  if (kind == Kind::kGet) item.value.resize(kBuffer);
  if (kind == Kind::kPut) {
    item.value = SomeValue(item.key);
    item.operation.value = Value::Opaque(ValueNumber(AsBytes(item.value)));
  }
  return item;
}

void Load::Begin(Item* item) {
  item->call = shared_.history->Begin(item->key, item->operation, process_.held());
  shared_.history->at(item->call).many = true;
}

void Load::Got(Item* item, const GetResult& result) {
  if (result.ok()) item->value.resize(result.value_bytes);
  Answered(item->call, result, &item->value);
}

void Load::CallMany() {
  const uint64_t kind = world_.random().Below(3);
  std::deque<Item> items;
  const uint64_t count = 2 + world_.random().Below(kLargestBatch);
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back(SomeItem(kind == 0 ? Kind::kGet : kind == 1 ? Kind::kPut : Kind::kRemove));
    Begin(&items.back());
  }
  if (kind == 0) {
    std::vector<GetRequest> requests(count);
    for (size_t i = 0; i < count; ++i) {
      requests[i].key = AsBytes(items[i].name);
      requests[i].buffer = std::as_writable_bytes(std::span(items[i].value));
    }
    session_->MultiGet(requests);
    for (size_t i = 0; i < count; ++i) Got(&items[i], requests[i].result);
  } else if (kind == 1) {
    std::vector<PutRequest> requests(count);
    for (size_t i = 0; i < count; ++i) {
      requests[i].key = AsBytes(items[i].name);
      requests[i].value = AsBytes(items[i].value);
    }
    session_->MultiPut(requests);
    for (size_t i = 0; i < count; ++i) Answered(items[i].call, requests[i].result);
  } else {
    std::vector<RemoveRequest> requests(count);
    for (size_t i = 0; i < count; ++i) requests[i].key = AsBytes(items[i].name);
    session_->MultiRemove(requests);
    for (size_t i = 0; i < count; ++i) Answered(items[i].call, requests[i].result);
  }
}

void Load::CallSubmit() {
  std::deque<Item> items;
  const uint64_t count = 2 + world_.random().Below(kLargestBatch);
  for (uint64_t i = 0; i < count; ++i) {
    constexpr Kind kKinds[] = {Kind::kGet, Kind::kPut, Kind::kRemove};
    Item& item = items.emplace_back(SomeItem(kKinds[world_.random().Below(3)]));
    Begin(&item);
    bool taken = false;
    if (item.operation.kind == Kind::kGet) {
      taken = session_->SubmitGet(AsBytes(item.name), std::as_writable_bytes(std::span(item.value)),
                                  [this, &item](const GetResult& result) { Got(&item, result); });
    } else if (item.operation.kind == Kind::kPut) {
      taken = session_->SubmitPut(
          AsBytes(item.name), AsBytes(item.value),
          [this, &item](const WriteResult& result) { Answered(item.call, result); });
    } else {
      taken = session_->SubmitRemove(AsBytes(item.name), [this, &item](const WriteResult& result) {
        Answered(item.call, result);
      });
    }
    DUNLIN_CHECK(taken);
    if (world_.random().OneIn(4)) session_->Poll();
    // Blocking calls may be mixed with submitted ones.
    if (world_.random().OneIn(16)) CallGet(SomeKey());
  }
  session_->Drain();
}

// Each entry was there at some time during its page's call.
void Load::CallScan() {
  uint64_t cursor = 0;
  for (bool done = false; !done && !process_.dead();) {
    ScanOptions options;
    options.limit = static_cast<uint32_t>(1 + world_.random().Below(50));
    const Operation operation = Invoke(Kind::kGet);
    const absl::StatusOr<ScanPage> page = session_->Scan(cursor, options);
    if (!page.ok() || process_.dead()) return;
    for (const ScanEntry& entry : page->entries) {
      auto key = shared_.key_numbers.find(entry.key);
      if (key == shared_.key_numbers.end()) {
        shared_.history->AddFault("a scan found a key that nobody ever wrote");
        continue;
      }
      const size_t call = shared_.history->Begin(key->second, operation, process_.held());
      shared_.history->at(call).many = true;
      GetResult result;
      result.outcome = Outcome::kOk;
      result.version = entry.version;
      result.ttl_left = entry.ttl_left;
      Answered(call, result, &entry.value);
    }
    cursor = page->next;
    done = page->done;
  }
}

}  // namespace dunlin::simulator
