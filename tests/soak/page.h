#pragma once

#include <string>
#include <vector>

#include "tests/soak/phase.h"

namespace dunlin::testing {

// One page of figures, in Markdown, a column for each phase.
std::string FiguresPage(const std::string& fabric, uint64_t seed, uint64_t memory_mib,
                        const std::vector<PhaseFigures>& phases);

// Of all phases: what must not have happened. Empty: it didn't.
std::vector<std::string> Faults(const std::vector<PhaseFigures>& phases);

}  // namespace dunlin::testing
