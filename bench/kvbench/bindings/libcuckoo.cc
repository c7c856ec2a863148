#include <string>
#include <string_view>

#include "absl/hash/hash.h"
#include "bench/kvbench/bindings/bindings.h"
#include "bench/kvbench/bindings/found_values.h"
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

using Map = libcuckoo::cuckoohash_map<std::string, std::string, Hash, Equal>;

class Session : public BindingSession {
 public:
  explicit Session(std::shared_ptr<Map> map) : map_(std::move(map)) {}

  void Execute(std::span<Request> requests) override {
    found_.Clear();
    for (Request& request : requests) One(request);
    found_.Publish();
  }

 private:
  void One(Request& request) {
    request.returned = Return::kOk;
    switch (request.op) {
      case Op::kRead:
        if (!map_->find_fn(request.key,
                           [&](const std::string& value) { found_.Add(request, value); })) {
          request.returned = Return::kNotFound;
        }
        return;
      case Op::kUpdate:
      case Op::kInsert:
        map_->upsert(
            request.key, [&](std::string& value) { value.assign(request.value); }, request.value);
        return;
      case Op::kDelete:
        if (!map_->erase(request.key)) request.returned = Return::kNotFound;
        return;
    }
  }

  const std::shared_ptr<Map> map_;
  FoundValues found_;
};

class Libcuckoo : public Binding {
 public:
  explicit Libcuckoo(size_t records) : map_(std::make_shared<Map>(records)) {}

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return std::make_unique<Session>(map_);
  }
  ServerUse Use() override { return HeapUse(); }
  std::string Describe() const override { return "libcuckoo, in process"; }

 private:
  const std::shared_ptr<Map> map_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeLibcuckoo(const Properties& properties) {
  DUNLIN_ASSIGN_OR_RETURN(const size_t records, ExpectedRecords(properties));
  return std::make_unique<Libcuckoo>(records);
}

}  // namespace dunlin::kvbench
