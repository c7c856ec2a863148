#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/kvbench/bindings/endpoint.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvbench {

// A connection to a server of lines and bytes, as memcached is one. After an error it is closed.
// One thread.
class TextConnection {
 public:
  // Of what was received since the last Send.
  struct Piece {
    size_t at = 0;
    size_t bytes = 0;
  };

  // `timeout_ms`: how long the server may stay silent.
  TextConnection(const Endpoint& server, int64_t timeout_ms)
      : server_(server), timeout_ms_(timeout_ms) {}

  // Nothing if there is a connection.
  absl::Status Connect();
  // Forgets what was received. Takes what the server answers meanwhile, however much that is.
  absl::Status Send(std::string_view text);
  // The next line, without its CR LF.
  absl::StatusOr<Piece> ReadLine();
  // The next `bytes`, without the CR LF that follows them.
  absl::StatusOr<Piece> ReadBytes(size_t bytes);
  // Closes it, since what comes next can't be known: an error that says why.
  absl::Status Lost(std::string_view why);
  // Holds until the next call of another function.
  std::string_view Text(Piece piece) const { return {received_.data() + piece.at, piece.bytes}; }

 private:
  absl::StatusOr<UniqueFd> ConnectUnix() const;
  absl::StatusOr<UniqueFd> ConnectTcp() const;
  absl::Status WaitToSend();
  absl::Status Receive(int flags);

  const Endpoint server_;
  const int64_t timeout_ms_;
  UniqueFd socket_;
  std::vector<char> received_;
  size_t end_ = 0;   // of what was received
  size_t next_ = 0;  // byte to be read
};

}  // namespace dunlin::kvbench
