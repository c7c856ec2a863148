#include "server/snapshot/large_copy.h"

#include <algorithm>

#include "server/snapshot/record_image.h"

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
    const RecordImage head(to.data() + at);
    checksum_ = head.checksum();
    if (head.header().raw() == header_.raw()) {
      sum_.emplace(header_, head.version(), head.expiry(), head.key());
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
