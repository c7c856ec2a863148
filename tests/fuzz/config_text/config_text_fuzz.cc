#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/base/config_text.h"
#include "common/base/size_text.h"

// Whatever the file, it is refused or read; what is read can be written and read back as the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = dunlin::ParseConfigText(text, "fuzz");
  if (!entries.ok()) return 0;
  std::string written;
  for (const dunlin::ConfigEntry& entry : *entries) {
    if (dunlin::HasControlCharacter(entry.value)) return 0;  // a tab within a value
    written += entry.name + " = " + dunlin::FormatConfigValue(entry.value) + "  # origin\n";
    if (const auto bytes = dunlin::ParseSize(entry.value); bytes.ok()) {
      DUNLIN_CHECK(dunlin::ParseSize(dunlin::FormatSize(*bytes)) == bytes);
    }
    if (const auto nanos = dunlin::ParseDuration(entry.value); nanos.ok()) {
      DUNLIN_CHECK(dunlin::ParseDuration(dunlin::FormatDuration(*nanos)) == nanos);
    }
  }
  const auto again = dunlin::ParseConfigText(written, "again");
  DUNLIN_CHECK_OK(again);
  DUNLIN_CHECK_EQ(again->size(), entries->size());
  for (size_t i = 0; i < entries->size(); ++i) {
    DUNLIN_CHECK((*again)[i].name == (*entries)[i].name);
    DUNLIN_CHECK((*again)[i].value == (*entries)[i].value);
  }
  return 0;
}
