#pragma once

#include <string_view>

namespace dunlin::kvbench {

// The HTML page (report/page, joined when building), in which %TITLE% and %DATA% are still to be
// filled in.
extern const std::string_view kPageTemplate;

}  // namespace dunlin::kvbench
