#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/kvbench/report/report.h"
#include "tests/unit/kvbench/report_synthetic.h"

// report_synthetic RUNS PAGE: a page of so many made-up runs, with hostile text among them.

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s RUNS PAGE\n", argv[0]);
    return 2;
  }
  using dunlin::kvbench::Results;
  std::vector<Results> runs = dunlin::kvbench::SynthesizeMany(std::atoi(argv[1]));
  const std::string hostile = "</script><script>document.title='taken'</script><b id=\"taken\">";
  Results strange = dunlin::kvbench::Synthesize({.label = hostile, .target = 1000});
  strange.add_remarks(hostile);
  (*strange.mutable_properties())[hostile] = hostile;
  (*strange.mutable_metrics(0)->mutable_returns())[hostile] = 7;
  runs.push_back(strange);
  Results empty;
  empty.set_format(1);
  runs.push_back(empty);
  const absl::Status written = dunlin::kvbench::WriteReport(runs, argv[2], {.title = "Made up"});
  if (!written.ok()) {
    std::fprintf(stderr, "%s\n", written.ToString().c_str());
    return 1;
  }
  return 0;
}
