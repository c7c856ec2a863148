#include "tests/soak/loader_page.h"

#include <sys/mman.h>
#include <unistd.h>

namespace dunlin::testing {

LoaderPage* MapLoaderPage(int fd) {
  if (ftruncate(fd, sizeof(LoaderPage)) != 0) return nullptr;
  void* at = mmap(nullptr, sizeof(LoaderPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<LoaderPage*>(at);
}

}  // namespace dunlin::testing
