// Runs a fuzz target without libFuzzer: over every file of the corpus as it is, then over seeded
// mutations of them. The same inputs on every machine, so it is a test, not a search.
//
//   name [--runs=N] [--seed=N] CORPUS_FOLDER_OR_FILE...

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using dunlin::Random;

using Input = std::vector<uint8_t>;

constexpr size_t kMaxInput = size_t{1} << 16;

struct Arguments {
  uint64_t runs = 5000;
  uint64_t seed = 1;
  std::vector<std::filesystem::path> corpus;
};

bool ParseNumber(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseArguments(int count, char** values, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view value = values[i];
    bool ok = true;
    if (value.starts_with("--runs=")) {
      ok = ParseNumber(value.substr(7), arguments.runs);
    } else if (value.starts_with("--seed=")) {
      ok = ParseNumber(value.substr(7), arguments.seed);
    } else if (value.starts_with("-")) {
      ok = false;
    } else {
      arguments.corpus.emplace_back(value);
    }
    if (!ok) {
      std::fprintf(stderr, "bad argument '%s'; usage: %s [--runs=N] [--seed=N] CORPUS...\n",
                   values[i], values[0]);
      return false;
    }
  }
  return true;
}

bool ReadInput(const std::filesystem::path& path, std::vector<Input>& inputs) {
  std::ifstream file(path, std::ios::binary);
  Input input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) {
    std::fprintf(stderr, "cannot read corpus file '%s'\n", path.c_str());
    return false;
  }
  inputs.push_back(std::move(input));
  return true;
}

// Sorted by path: the order of a directory differs between machines.
bool ReadCorpus(const std::vector<std::filesystem::path>& roots, std::vector<Input>& inputs) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& root : roots) {
    std::error_code error;
    if (std::filesystem::is_directory(root, error)) {
      for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
        if (entry.is_regular_file(error)) files.push_back(entry.path());
      }
    } else {
      files.push_back(root);
    }
    if (error) {
      std::fprintf(stderr, "cannot read '%s': %s\n", root.c_str(), error.message().c_str());
      return false;
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    if (!ReadInput(file, inputs)) return false;
  }
  return true;
}

uint8_t InterestingByte(Random& random) {
  static constexpr uint8_t kBytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '\n', ' ', '=', '"', '0'};
  return random.OneIn(2) ? kBytes[random.Below(std::size(kBytes))]
                         : static_cast<uint8_t>(random.Next());
}

void OverwriteInteger(Input& input, Random& random) {
  if (input.size() < 8) return;
  const uint64_t shift = random.Below(64);
  const uint64_t value = (uint64_t{1} << shift) - random.Below(3);
  const size_t width = size_t{1} << random.Below(4);
  const size_t at = random.Below(input.size() - width + 1);
  for (size_t i = 0; i < width; ++i) input[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

void Splice(Input& input, const Input& other, Random& random) {
  if (other.empty()) return;
  const size_t from = random.Below(other.size());
  const size_t length = random.Between(1, other.size() - from);
  const size_t at = random.Below(input.size() + 1);
  input.insert(input.begin() + static_cast<ptrdiff_t>(at),
               other.begin() + static_cast<ptrdiff_t>(from),
               other.begin() + static_cast<ptrdiff_t>(from + length));
}

void MutateOnce(Input& input, const std::vector<Input>& inputs, Random& random) {
  const auto place = [&] { return random.Below(std::max<size_t>(input.size(), 1)); };
  const auto at = [&](size_t index) { return input.begin() + static_cast<ptrdiff_t>(index); };
  switch (input.empty() ? 4 + random.Below(2) : random.Below(7)) {
    case 0:
      input[place()] ^= static_cast<uint8_t>(1u << random.Below(8));
      break;
    case 1:
      input[place()] = InterestingByte(random);
      break;
    case 2: {
      const size_t from = place();
      input.erase(at(from), at(from + random.Between(1, input.size() - from)));
      break;
    }
    case 3:
      input.resize(random.Below(input.size() + 1));
      break;
    case 4:
      input.insert(at(random.Below(input.size() + 1)), random.Between(1, 16),
                   InterestingByte(random));
      break;
    case 5:
      Splice(input, inputs[random.Below(inputs.size())], random);
      break;
    default:
      OverwriteInteger(input, random);
      break;
  }
  if (input.size() > kMaxInput) input.resize(kMaxInput);
}

// A copy of exactly the input's size, so that AddressSanitizer sees the first byte beyond it.
void RunOn(const Input& input) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), copy.get());
  LLVMFuzzerTestOneInput(copy.get(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  std::vector<Input> inputs;
  if (!ParseArguments(argc, argv, arguments) || !ReadCorpus(arguments.corpus, inputs)) return 2;
  if (inputs.empty()) {
    std::fprintf(stderr, "the corpus is empty: a fuzz target needs at least one valid input\n");
    return 2;
  }
  inputs.emplace_back();
  for (const Input& input : inputs) RunOn(input);
  Random random(arguments.seed);
  for (uint64_t run = 0; run < arguments.runs; ++run) {
    Input input = inputs[random.Below(inputs.size())];
    for (uint64_t left = random.Between(1, 6); left > 0; --left) {
      MutateOnce(input, inputs, random);
    }
    RunOn(input);
  }
  std::printf("%zu corpus inputs and %llu mutations (seed %llu) passed\n", inputs.size(),
              static_cast<unsigned long long>(arguments.runs),
              static_cast<unsigned long long>(arguments.seed));
  return 0;
}
