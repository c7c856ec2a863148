#include "bench/kvbench/output/hdr_encoding.h"

#include <zlib.h>

#include <bit>
#include <cstddef>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr uint32_t kPlainCookie = 0x1c849313;
constexpr uint32_t kCompressedCookie = 0x1c849314;
constexpr int kSubBucketBits = 11;  // of 2048 = twice 10^3, the next power of two
constexpr uint64_t kHalf = uint64_t{1} << (kSubBucketBits - 1);

template <typename T>
void AppendBigEndian(T value, std::string& to) {
  for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
    to += static_cast<char>(value >> shift);
  }
}

// Zig-zag, and seven bits a byte; the ninth byte has eight.
void AppendZigZag(int64_t value, std::string& to) {
  uint64_t bits = static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
  for (int i = 0; i < 8; ++i) {
    if (bits < 0x80) {
      to += static_cast<char>(bits);
      return;
    }
    to += static_cast<char>((bits & 0x7f) | 0x80);
    bits >>= 7;
  }
  to += static_cast<char>(bits);
}

size_t IndexOf(uint64_t value) {
  const int width = std::bit_width(value);
  const int bucket = width > kSubBucketBits ? width - kSubBucketBits : 0;
  const uint64_t sub = value >> bucket;
  return ((static_cast<uint64_t>(bucket) + 1) << (kSubBucketBits - 1)) + sub - kHalf;
}

std::vector<int64_t> CountsOf(const Histogram& histogram) {
  std::vector<int64_t> counts;
  histogram.ForEachStep([&](uint64_t highest, uint64_t count) {
    const size_t index = IndexOf(highest);
    if (counts.size() <= index) counts.resize(index + 1);
    counts[index] += static_cast<int64_t>(count);
  });
  return counts;
}

std::string Payload(const std::vector<int64_t>& counts) {
  std::string payload;
  for (size_t i = 0; i < counts.size();) {
    size_t end = i;
    while (end < counts.size() && counts[end] == 0) ++end;
    const auto zeros = static_cast<int64_t>(end - i);
    if (zeros > 1) {
      AppendZigZag(-zeros, payload);
      i = end;
    } else {
      AppendZigZag(counts[i++], payload);
    }
  }
  return payload;
}

}  // namespace

std::string EncodeHdrPlain(const Histogram& histogram) {
  const std::string payload = Payload(CountsOf(histogram));
  std::string result;
  AppendBigEndian(kPlainCookie, result);
  AppendBigEndian(static_cast<uint32_t>(payload.size()), result);
  AppendBigEndian(uint32_t{0}, result);  // normalizing index offset
  AppendBigEndian(uint32_t{3}, result);  // significant digits
  AppendBigEndian(uint64_t{1}, result);  // lowest and highest value
  AppendBigEndian(Histogram::kMax, result);
  AppendBigEndian(std::bit_cast<uint64_t>(1.0), result);  // ratio to whole numbers
  return result + payload;
}

absl::StatusOr<std::string> EncodeHdr(const Histogram& histogram) {
  const std::string plain = EncodeHdrPlain(histogram);
  uLongf length = compressBound(plain.size());
  std::string compressed(length, '\0');
  const int error = compress(reinterpret_cast<Bytef*>(compressed.data()), &length,
                             reinterpret_cast<const Bytef*>(plain.data()), plain.size());
  if (error != Z_OK) {
    return MakeStatus(absl::StatusCode::kInternal,
                      "zlib: error " + std::to_string(error) + " while compressing a histogram");
  }
  compressed.resize(length);
  std::string result;
  AppendBigEndian(kCompressedCookie, result);
  AppendBigEndian(static_cast<uint32_t>(compressed.size()), result);
  result += compressed;
  return absl::Base64Escape(ToAbsl(result));
}

}  // namespace dunlin::kvbench
