#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/kvbench/command_line.h"
#include "common/base/check.h"

// An argument a line. Whatever they are, they are refused with a message, or understood.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else if (data[i] != 0) {  // ends an argument, so there is none in one
      words.back() += static_cast<char>(data[i]);
    }
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) {
    if (word.starts_with("-P")) return 0;  // another parser's
    arguments.push_back(word.c_str());
  }
  const auto line = dunlin::kvbench::ParseCommandLine(arguments);
  if (!line.ok()) {
    DUNLIN_CHECK(!line.status().message().empty());
    return 0;
  }
  DUNLIN_CHECK(line->slo.limit_nanos >= 0);
  for (const auto& [name, value] : line->properties.all()) DUNLIN_CHECK(!name.empty());
  return 0;
}
