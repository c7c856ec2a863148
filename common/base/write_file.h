#pragma once

#include <string>
#include <string_view>

namespace dunlin {

// Makes `text` the contents of a file, or writes it to a pipe or a device. Returns 0, or the errno
// of what failed; the file may have a part of the text then.
int WriteWholeFile(const std::string& path, std::string_view text);

}  // namespace dunlin
