// Makes snapshots until it is done or dies: killed_writer DIRECTORY PASSES STEP. At the STEP-th
// step on the file system, unless that is 0, it kills itself. Writes the number of each pass that
// was committed to its standard output, at once.

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/faulty_file_system.h"
#include "tests/unit/snapshot/sequence_testing.h"

int main(int count, char** arguments) {
  using dunlin::testing::FaultyFileSystem;
  using dunlin::testing::FileFault;
  if (count != 4) return 2;
  const auto fs = std::make_shared<FaultyFileSystem>(rocksdb::FileSystem::Default());
  fs->Inject({.kind = FileFault::Kind::kCall,
              .at = std::strtoull(arguments[3], nullptr, 10),
              .call = [] { kill(getpid(), SIGKILL); }});
  const dunlin::testing::Sequence run = dunlin::testing::RunPasses(
      arguments[1], fs, std::strtoull(arguments[2], nullptr, 10), [](uint64_t pass) {
        const std::string line = std::to_string(pass) + "\n";
        if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::perror("write");
      });
  if (run.opened.ok() && run.failed == 0) return 0;
  std::fprintf(stderr, "%s\n%s\n", run.opened.ToString().c_str(), run.last.ToString().c_str());
  return 1;
}
