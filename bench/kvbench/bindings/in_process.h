#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "bench/kvbench/binding.h"
#include "bench/kvbench/bindings/found_values.h"
#include "bench/kvbench/properties.h"

// What the stores in this process share.

namespace dunlin::kvbench {

// How many records `properties` speak of ("recordcount"), to make room for them. At least 1024.
absl::StatusOr<size_t> ExpectedRecords(const Properties& properties);

// No other process takes any time, and the memory is what malloc has given out to anybody here. The
// driver's own share of it is the same with and without records. Not known where another malloc is
// in the C library's place, as the sanitizers' is.
ServerUse HeapUse();

// A store that is an object of this process. `Map` is thread safe, and has
//   void Execute(Request& request, FoundValues& found);
//   std::string Describe() const;
template <typename Map>
class InProcess final : public Binding {
 public:
  explicit InProcess(std::shared_ptr<Map> map) : map_(std::move(map)) {}

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return std::make_unique<Session>(map_);
  }
  ServerUse Use() override { return HeapUse(); }
  std::string Describe() const override { return map_->Describe(); }

 private:
  class Session final : public BindingSession {
   public:
    explicit Session(std::shared_ptr<Map> map) : map_(std::move(map)) {}

    void Execute(std::span<Request> requests) override {
      found_.Clear();
      for (Request& request : requests) map_->Execute(request, found_);
      found_.Publish();
    }

   private:
    const std::shared_ptr<Map> map_;
    FoundValues found_;
  };

  const std::shared_ptr<Map> map_;
};

}  // namespace dunlin::kvbench
