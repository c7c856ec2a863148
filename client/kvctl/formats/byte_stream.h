#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin::kvctl {

// Where bytes come from. Not thread safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads at least one byte, waiting for it if need be. 0 means the end, which stays the end.
  // After an error nothing more may be read. `buffer` is not empty.
  virtual absl::StatusOr<size_t> Read(std::span<char> buffer) = 0;
};

// Where bytes go. Not thread safe.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // Takes all of `bytes`, possibly into a buffer. After an error nothing more may be written.
  virtual absl::Status Write(std::string_view bytes) = 0;

  // Hands on whatever is buffered. Must be called at the end: a destructor can't report errors,
  // so it writes nothing.
  virtual absl::Status Flush() = 0;
};

// Reads a file descriptor, which it does not own.
class FdSource final : public ByteSource {
 public:
  // `name` is for error messages.
  FdSource(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override;

 private:
  const int fd_;
  const std::string name_;
};

// Writes a file descriptor, which it does not own, in pieces of 64 KiB or more.
class FdSink final : public ByteSink {
 public:
  FdSink(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  absl::Status Write(std::string_view bytes) override;
  absl::Status Flush() override;

 private:
  absl::Status WriteThrough(std::string_view bytes);

  const int fd_;
  const std::string name_;
  std::string buffer_;
};

// Reads bytes that someone else keeps. `chunk` bounds what one Read returns.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes, size_t chunk = std::string_view::npos)
      : rest_(bytes), chunk_(chunk) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override;

 private:
  std::string_view rest_;
  const size_t chunk_;
};

// Collects bytes in memory.
class StringSink final : public ByteSink {
 public:
  absl::Status Write(std::string_view bytes) override;
  absl::Status Flush() override { return absl::OkStatus(); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace dunlin::kvctl
