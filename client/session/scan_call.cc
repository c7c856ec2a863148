#include <algorithm>

#include "client/session/session_impl.h"
#include "common/base/status.h"

namespace dunlin {

void SessionImpl::DropOtherPasses(Operation& op, const ScanBucket& scan) {
  if (op.scan_pass != scan.pass()) op.scan_entries->resize(op.scan_first);
  op.scan_pass = scan.pass();
}

void SessionImpl::CopyEntries(Operation& op, const ScanBucket& scan) {
  DropOtherPasses(op, scan);
  const ScanOptions& options = *op.scan_options;
  for (uint32_t i = 0; i < scan.entries(); ++i) {
    const ScanBucket::Entry& e = scan.entry(i);
    std::string_view key(reinterpret_cast<const char*>(e.key), e.key_bytes);
    if (!key.starts_with(options.prefix)) continue;
    ScanEntry& entry = op.scan_entries->emplace_back();
    entry.key = key;
    entry.version = e.version;
    if (e.expiry != 0) entry.ttl_left = Milliseconds(e.expiry - env_.now);
    if (!options.values) continue;
    if (e.value != nullptr) {
      entry.value.assign(reinterpret_cast<const char*>(e.value), e.value_bytes);
    } else {
      entry.version = 0;  // a run: fetched by its key when the bucket is done
    }
  }
}

Outcome SessionImpl::ScanOne(ScanCursor at, const ScanOptions& options, ScanCursor* next,
                             std::vector<ScanEntry>* entries) {
  Operation& op = Blocking();
  if (Outcome admitted = Admit(); admitted != Outcome::kOk) return admitted;
  EnsureScratch(op, mapping_ != nullptr ? geometry_.bucket_bytes : ScanBucket::kScratchBytes);
  op.waits = 0;
  op.restarts = 0;
  op.overdue = false;
  op.incarnation = link_->constants.incarnation;
  op.deadline.reset();
  op.patience = options.deadline.value_or(options_.default_deadline);
  op.scan_entries = entries;
  op.scan_options = &options;
  op.scan_first = entries->size();
  op.scan_pass = 0;
  op.get_result = nullptr;
  op.write_result = nullptr;
  op.holds_block = false;
  op.began = env_.now;
  ScanBucket& scan = op.machine.emplace<ScanBucket>(at);
  RunBlocking(op);
  *next = scan.next();
  return op.outcome;
}

// Where nothing is mapped a bucket costs a round trip, and most of a young index is empty: looks at
// ever more buckets at once until one has something in it. After an error the caller's own read
// says why.
ScanCursor SessionImpl::SkipEmpty(ScanCursor at) {
  constexpr uint32_t kFirst = 8;
  constexpr uint32_t kMost = 8192;
  for (uint32_t ahead = kFirst; !at.end(); ahead = std::min(ahead * 2, kMost)) {
    const ScanPlace place = PlaceScan(geometry_, env_.directory, at);
    const uint32_t count = std::min(ahead, place.buckets);
    buckets_.resize(size_t{count} * geometry_.bucket_bytes);
    const uint64_t stamp = Tick();
    if (!ReadRegion(place.address, buckets_).ok()) return at;
    // Read so slowly, header and slots may be those of two subtables.
    if (Tick() - stamp >= geometry_.grace / 2) return at;
    for (uint32_t i = 0; i < count; ++i) {
      const std::byte* bucket = buckets_.data() + size_t{i} * geometry_.bucket_bytes;
      if (!EmptyBucket(geometry_, bucket, place.identity)) return place.After(i);
    }
    at = place.After(count);
  }
  return at;
}

// A value of many pages is read like any other, by its key; it may have changed or gone meanwhile,
// which a scan allows.
Outcome SessionImpl::FetchRuns(size_t first, const ScanOptions& options,
                               std::vector<ScanEntry>* entries) {
  for (size_t i = first; i < entries->size();) {
    ScanEntry& entry = (*entries)[i];
    if (entry.version != 0) {
      ++i;
      continue;
    }
    GetResult got = GetString(AsBytes(entry.key), &entry.value, {options.deadline});
    if (got.outcome == Outcome::kNotFound) {
      entries->erase(entries->begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (!got.ok()) return got.outcome;
    entry.version = got.version;
    entry.ttl_left = got.ttl_left;
    ++i;
  }
  return Outcome::kOk;
}

absl::StatusOr<ScanPage> SessionImpl::Scan(uint64_t cursor, const ScanOptions& options) {
  ScanCursor at(cursor);
  if (!at.valid()) return absl::InvalidArgumentError("not a cursor of a scan");
  ScanPage page;
  while (!at.end() && page.entries.size() < std::max(1u, options.limit)) {
    size_t first = page.entries.size();
    ScanCursor next(0);
    Outcome outcome = ScanOne(at, options, &next, &page.entries);
    if (outcome == Outcome::kOk && options.values) {
      outcome = FetchRuns(first, options, &page.entries);
    }
    if (outcome != Outcome::kOk) return ToStatus(outcome, "scan");
    const bool nothing = page.entries.size() == first;
    at = nothing && mapping_ == nullptr ? SkipEmpty(next) : next;
  }
  page.done = at.end();
  page.next = at.raw();
  return page;
}

}  // namespace dunlin
