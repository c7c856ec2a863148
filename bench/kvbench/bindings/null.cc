#include <memory>
#include <string>

#include "bench/kvbench/bindings/bindings.h"

namespace dunlin::kvbench {
namespace {

class NullSession final : public BindingSession {
 public:
  void Execute(std::span<Request> requests) override {
    for (Request& request : requests) request.returned = Return::kOk;
  }
};

class NullBinding final : public Binding {
 public:
  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return std::make_unique<NullSession>();
  }
  std::string Describe() const override { return "null: does nothing"; }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeNull(const Properties&) {
  return std::make_unique<NullBinding>();
}

}  // namespace dunlin::kvbench
