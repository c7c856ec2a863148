#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kvbench/binding.h"

namespace dunlin::kvbench {

// Copies of the values that the reads of one call found. They move while more are added, so the
// requests learn where theirs are at the end.
class FoundValues {
 public:
  void Clear() {
    text_.clear();
    places_.clear();
  }
  void Add(Request& request, std::string_view value) {
    places_.push_back({&request, text_.size(), value.size()});
    text_.append(value);
  }
  void Publish() {
    for (const Place& place : places_) {
      place.request->found = std::string_view(text_).substr(place.at, place.bytes);
    }
  }

 private:
  struct Place {
    Request* request;
    size_t at;
    size_t bytes;
  };
  std::string text_;
  std::vector<Place> places_;
};

}  // namespace dunlin::kvbench
