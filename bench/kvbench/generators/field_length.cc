#include "bench/kvbench/generators/field_length.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr uint64_t kMaxBuckets = 1u << 20;

std::optional<uint64_t> Number(std::string_view text) {
  while (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::Status Malformed(std::string_view name, std::string_view line, std::string_view expected) {
  std::string message = std::string(name) + ": expected " + std::string(expected) + ", found \"" +
                        std::string(line) + "\"";
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

}  // namespace

FieldLength FieldLength::Uniform(uint32_t least, uint32_t most) {
  DUNLIN_CHECK(least <= most);
  return FieldLength(Range{least, most}, most);
}

FieldLength FieldLength::OfZipfian(uint32_t least, uint32_t most) {
  DUNLIN_CHECK(least <= most);
  return FieldLength(Skewed{least, Zipfian(uint64_t{most} - least + 1)}, most);
}

absl::StatusOr<FieldLength> FieldLength::Histogram(std::string_view text, std::string_view name) {
  std::optional<uint64_t> block;
  std::map<uint64_t, uint64_t> counts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line == "\r") continue;
    const size_t tab = std::min(line.find('\t'), line.size());
    const std::optional<uint64_t> second = Number(line.substr(std::min(tab + 1, line.size())));
    if (!block) {
      if (line.substr(0, tab) != "BlockSize" || !second || *second == 0) {
        return Malformed(name, line, "\"BlockSize\", a tab and a number above 0");
      }
      block = second;
      continue;
    }
    const std::optional<uint64_t> first = Number(line.substr(0, tab));
    if (!first || !second || *first >= kMaxBuckets) {
      return Malformed(name, line, "a bucket's number, a tab and a count");
    }
    counts[*first] = *second;
  }
  if (!block || counts.empty()) return Malformed(name, "", "a line BlockSize and one a bucket");
  const uint64_t buckets = counts.rbegin()->first + 1;
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  if (*block > kMost / buckets) return Malformed(name, "", "lengths of less than 2 GiB");
  Counted counted{static_cast<uint32_t>(*block), std::vector<uint64_t>(buckets)};
  uint64_t sum = 0;
  for (uint64_t i = 0; i < buckets; ++i) {
    const auto found = counts.find(i);
    counted.upto[i] = sum += found == counts.end() ? 0 : found->second;
  }
  if (sum == 0) return Malformed(name, "", "a count above 0");
  return FieldLength(std::move(counted), static_cast<uint32_t>(*block * buckets));
}

uint32_t FieldLength::Next(Random& random) {
  if (const Same* same = std::get_if<Same>(&kind_)) return same->length;
  if (const Range* range = std::get_if<Range>(&kind_)) {
    return static_cast<uint32_t>(random.Between(range->least, range->most));
  }
  if (Skewed* skewed = std::get_if<Skewed>(&kind_)) {
    return skewed->least + static_cast<uint32_t>(skewed->zipfian.Next(random));
  }
  const Counted& counted = std::get<Counted>(kind_);
  const uint64_t draw = random.Below(counted.upto.back());
  const auto bucket = std::upper_bound(counted.upto.begin(), counted.upto.end(), draw);
  return static_cast<uint32_t>(bucket - counted.upto.begin() + 1) * counted.block;
}

}  // namespace dunlin::kvbench
