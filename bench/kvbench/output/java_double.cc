#include "bench/kvbench/output/java_double.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace dunlin::kvbench {

std::string JavaDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::string result = std::signbit(value) ? "-" : "";
  const double size = std::fabs(value);
  if (size == 0) return result + "0.0";

  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof(text), size, std::chars_format::scientific).ptr;
  const std::string_view all(text, static_cast<size_t>(end - text));
  const size_t e = all.find('e');
  std::string digits(1, all[0]);
  if (e > 2) digits += all.substr(2, e - 2);
  int exponent = 0;
  const size_t sign = all[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text + sign, end, exponent);

  if (size >= 1e-3 && size < 1e7) {
    if (exponent < 0) return result + "0." + std::string(-exponent - 1, '0') + digits;
    const auto whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() < whole + 1) digits.append(whole + 1 - digits.size(), '0');
    return result + digits.substr(0, whole) + "." + digits.substr(whole);
  }
  if (digits.size() < 2) digits += '0';
  return result + digits.substr(0, 1) + "." + digits.substr(1) + "E" + std::to_string(exponent);
}

}  // namespace dunlin::kvbench
