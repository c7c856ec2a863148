#pragma once

#include <rocksdb/file_checksum.h>

#include <memory>
#include <string>
#include <string_view>

namespace dunlin {

// The checksum of a whole file of a snapshot's database, XXH3-128: RocksDB computes it while it
// writes a table, we do for the other files and when verifying. (RocksDB's own CRC32C is several
// times slower where it was built without special instructions, as Debian does.)
std::shared_ptr<rocksdb::FileChecksumGenFactory> FileChecksums();

// The name under which RocksDB keeps it.
std::string_view FileChecksumName();

// RocksDB's bytes as lower-case hexadecimal.
std::string FileChecksumText(std::string_view bytes);

class FileChecksum {
 public:
  FileChecksum();
  void Update(std::string_view bytes) { generator_->Update(bytes.data(), bytes.size()); }
  // The checksum in hexadecimal; ends the computation.
  std::string Finish();

 private:
  std::unique_ptr<rocksdb::FileChecksumGenerator> generator_;
};

}  // namespace dunlin
