#include <string>
#include <string_view>

#include "absl/hash/hash.h"
#include "bench/kvbench/bindings/bindings.h"
#include "bench/kvbench/bindings/in_process.h"
#include "common/base/status.h"
#include "libcuckoo/cuckoohash_map.hh"

namespace dunlin::kvbench {
namespace {

struct Hash {
  size_t operator()(std::string_view key) const {
    return absl::Hash<absl::string_view>{}(ToAbsl(key));
  }
};

struct Equal {
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};

class Libcuckoo {
 public:
  explicit Libcuckoo(size_t records) : map_(records) {}

  void Execute(Request& request, FoundValues& found) {
    request.returned = Return::kOk;
    switch (request.op) {
      case Op::kRead:
        if (!map_.find_fn(request.key,
                          [&](const std::string& value) { found.Add(request, value); })) {
          request.returned = Return::kNotFound;
        }
        return;
      case Op::kUpdate:
      case Op::kInsert:
        map_.upsert(
            request.key, [&](std::string& value) { value.assign(request.value); }, request.value);
        return;
      case Op::kDelete:
        if (!map_.erase(request.key)) request.returned = Return::kNotFound;
        return;
    }
  }
  std::string Describe() const { return "libcuckoo, in process"; }

 private:
  libcuckoo::cuckoohash_map<std::string, std::string, Hash, Equal> map_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeLibcuckoo(const Properties& properties) {
  DUNLIN_ASSIGN_OR_RETURN(const size_t records, ExpectedRecords(properties));
  return std::make_unique<InProcess<Libcuckoo>>(std::make_shared<Libcuckoo>(records));
}

}  // namespace dunlin::kvbench
