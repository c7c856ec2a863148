#include <cstring>
#include <new>

#include "tests/explorer/digest.h"
#include "tests/explorer/index_view.h"
#include "tests/explorer/machine_box.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {

// A scan is no operation of the map: it takes time. What it owes is that a key which is there from
// its beginning to its end is met, and that whatever is met was current in between.

void System::StartScan(uint32_t c) {
  Client& k = client(c);
  k.machine = MachineKind::kScan;
  k.scan = {};
  k.scan.throughout = (1u << scenario_.keys.size()) - 1;
  new (k.storage) ScanBucket(ScanCursor(0));
  FollowScans();
}

void System::FollowScans() {
  uint64_t versions = 0;
  uint32_t keys = 0;
  ForEachSlot(*world_, geometry_, [&](uint64_t, SlotWord word) {
    if (!word.live()) return;
    const std::byte* record = book_.RecordAt(word);
    versions |= uint64_t{1} << ((PlainWord(record + 8) - VersionOf(0, 0)) & 63);
    for (uint32_t key = 0; key < scenario_.keys.size(); ++key) {
      if (HoldsKey(word, key)) keys |= 1u << key;
    }
  });
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    if (client(c).machine != MachineKind::kScan) continue;
    client(c).scan.during |= versions;
    client(c).scan.throughout &= keys;
  }
}

void System::CollectScan(uint32_t c) {
  ScanState& scan = client(c).scan;
  const ScanBucket& machine = As<ScanBucket>(client(c));
  if (machine.pass() != scan.pass) {
    scan.pass = machine.pass();
    scan.found_here = 0;
    scan.keys_here = 0;
  }
  for (uint32_t i = 0; i < machine.entries(); ++i) {
    const ScanBucket::Entry& entry = machine.entry(i);
    scan.found_here |= uint64_t{1} << ((entry.version - VersionOf(0, 0)) & 63);
    for (uint32_t key = 0; key < scenario_.keys.size(); ++key) {
      const std::string& bytes = scenario_.keys[key].bytes;
      if (entry.key_bytes == bytes.size() &&
          std::memcmp(entry.key, bytes.data(), bytes.size()) == 0) {
        scan.keys_here |= 1u << key;
      }
    }
  }
}

void System::OnScanned(uint32_t c) {
  Client& k = client(c);
  const ScanBucket machine = As<ScanBucket>(k);
  if (machine.result() != Result::kOk) {
    return Violate("a scan returns " + std::string(NameOf(machine.result())));
  }
  if (machine.pass() == k.scan.pass) {
    k.scan.found |= k.scan.found_here;
    k.scan.keys |= k.scan.keys_here;
  }
  k.scan.pass = 0;
  k.scan.found_here = 0;
  k.scan.keys_here = 0;
  if (!machine.next().end()) {
    k.scan.cursor = machine.next().raw();
    new (k.storage) ScanBucket(machine.next());
    k.past = k.origin = Mix(1, k.scan.cursor);
    return Run(c);
  }
  if ((k.scan.found & ~k.scan.during) != 0) return Violate("a scan meets what was not there");
  if ((k.scan.throughout & ~k.scan.keys) != 0) return Violate("a scan misses a key that was there");
  Respond(c, {.result = Result::kOk});
  NextOp(c);
}

}  // namespace dunlin::explorer
