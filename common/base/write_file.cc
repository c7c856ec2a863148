#include "common/base/write_file.h"

#include <cerrno>
#include <cstdio>

namespace dunlin {

int WriteWholeFile(const std::string& path, std::string_view text) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errno;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int write_error = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written) return write_error;
  return closed ? 0 : errno;
}

}  // namespace dunlin
