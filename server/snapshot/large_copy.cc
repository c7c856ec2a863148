#include "server/snapshot/large_copy.h"

#include <algorithm>
#include <cstddef>

#include "common/layout/word.h"

namespace dunlin {
namespace {

constexpr uint64_t kPieceBytes = 256 << 10;

}  // namespace

// All is judged by the copy: what lies in the heap may change, if only by a faulty client's doing.
bool LargeCopy::Step(std::vector<std::byte>& to) {
  const uint64_t whole = header_.record_bytes();
  if (copied_ == 0) {
    to.reserve(to.size() + whole);
    const size_t at = to.size();
    copied_ = header_.value_offset();
    to.insert(to.end(), record_, record_ + copied_);
    const std::byte* head = to.data() + at;
    const uint64_t version = PlainWord(head + offsetof(RecordPrefix, version));
    checksum_ = PlainWord(head + offsetof(RecordPrefix, checksum));
    if (PlainWord(head) == header_.raw()) {
      sum_.emplace(header_, version, header_.expires() ? PlainWord(head + kRecordPrefixBytes) : 0,
                   std::span(head + header_.key_offset(), header_.key_bytes()));
    }
  }
  const uint64_t piece = std::min(kPieceBytes, whole - copied_);
  const size_t at = to.size();
  to.insert(to.end(), record_ + copied_, record_ + copied_ + piece);
  if (sum_) sum_->Add({to.data() + at, piece});
  copied_ += piece;
  return copied_ == whole;
}

}  // namespace dunlin
