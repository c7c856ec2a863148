#include "server/snapshot/shadow.h"

#include <bit>
#include <utility>

#include "common/base/check.h"

namespace dunlin {
namespace {

uint32_t FirstPosition(const ShadowTable& t) { return t.prefix << (kMaxDirectoryDepth - t.depth); }

template <typename T>
uint64_t BytesOf(const std::vector<T>& v) {
  return v.capacity() * sizeof(T);
}

}  // namespace

void ShadowTable::MakeAllStale() {
  for (size_t i = 0; i < records(); ++i) words[i] = StaleWord(SlotWord(words[i]));
}

void TableScratch::Clear(uint32_t buckets) {
  words_.assign(size_t{buckets} * kSlotsPerBucket, 0);
  tags_.resize(words_.size());
}

void TableScratch::Fill(uint32_t buckets, const ShadowTable& t) {
  Clear(buckets);
  size_t i = 0;
  for (uint32_t b = 0; b < t.masks.size(); ++b) {
    for (uint32_t mask = t.masks[b]; mask != 0; mask &= mask - 1, ++i) {
      Keep(b * kSlotsPerBucket + static_cast<uint32_t>(std::countr_zero(mask)), t.words[i],
           t.tags[i]);
    }
  }
}

void TableScratch::PackInto(ShadowTable& t) const {
  t.masks.assign(words_.size() / kSlotsPerBucket, 0);
  size_t records = 0;
  for (uint32_t slot = 0; slot < words_.size(); ++slot) {
    if (words_[slot] == 0) continue;
    t.masks[slot / kSlotsPerBucket] |= static_cast<uint16_t>(1 << slot % kSlotsPerBucket);
    ++records;
  }
  // Made anew, so that they take no more memory than they must.
  std::vector<uint64_t> words;
  std::vector<ShadowTag> tags;
  words.reserve(records + kWordsPadding);
  tags.reserve(records);
  for (uint32_t slot = 0; slot < words_.size(); ++slot) {
    if (words_[slot] == 0) continue;
    words.push_back(words_[slot]);
    tags.push_back(tags_[slot]);
  }
  t.words = std::move(words);
  t.tags = std::move(tags);
  t.Pad();
  t.ordered = true;
}

ShadowTable Shadow::Empty(uint32_t prefix, uint32_t depth) const {
  ShadowTable t;
  t.prefix = prefix;
  t.depth = depth;
  t.masks.assign(buckets_, 0);
  t.Pad();
  return t;
}

ShadowTable& Shadow::TableOf(const IndexSpace::Subtable& s) {
  const uint32_t first = IndexSpace::First(s);
  for (;;) {
    auto at = tables_.upper_bound(first);
    if (at == tables_.begin()) break;
    --at;
    const ShadowTable& t = at->second;
    if (t.depth > s.depth || t.prefix != s.prefix >> (s.depth - t.depth)) break;
    if (t.depth == s.depth) return at->second;
    Split(at);
  }
  // Subtables are never joined, so nothing deeper can be there.
  auto [at, added] = tables_.emplace(first, Empty(s.prefix, s.depth));
  DUNLIN_CHECK(added);
  return at->second;
}

void Shadow::Split(std::map<uint32_t, ShadowTable>::iterator at) {
  ShadowTable parent = std::move(at->second);
  tables_.erase(at);
  ShadowTable child[2];
  for (uint32_t side = 0; side < 2; ++side) {
    child[side].prefix = parent.prefix << 1 | side;
    child[side].depth = parent.depth + 1;
    child[side].ordered = false;
    child[side].pass = parent.pass;
    child[side].seen_tick = parent.seen_tick;
  }
  const uint32_t bit = kMaxDirectoryDepth - 1 - parent.depth;
  for (size_t i = 0; i < parent.records(); ++i) {
    ShadowTable& to = child[parent.tags[i].position() >> bit & 1];
    to.words.push_back(parent.words[i]);
    to.tags.push_back(parent.tags[i]);
  }
  for (uint64_t tag : parent.again) child[PositionOfTag(tag) >> bit & 1].again.push_back(tag);
  for (uint64_t tag : parent.again_if_failed) {
    child[PositionOfTag(tag) >> bit & 1].again_if_failed.push_back(tag);
  }
  for (ShadowTable& t : child) {
    t.words.shrink_to_fit();
    t.tags.shrink_to_fit();
    tables_.emplace(FirstPosition(t), std::move(t));
  }
}

uint64_t Shadow::records() const {
  uint64_t sum = 0;
  for (const auto& [first, t] : tables_) sum += t.records();
  return sum;
}

uint64_t Shadow::bytes() const {
  uint64_t sum = 0;
  for (const auto& [first, t] : tables_) {
    sum += sizeof t + BytesOf(t.masks) + BytesOf(t.words) + BytesOf(t.tags) + BytesOf(t.again) +
           BytesOf(t.again_if_failed);
  }
  return sum;
}

}  // namespace dunlin
