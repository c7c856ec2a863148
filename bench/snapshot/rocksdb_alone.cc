#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bench/snapshot/snapshot_bench.h"
#include "common/base/check.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kTableBytes = uint64_t{64} << 20;

rocksdb::Options Uncompressed() {
  rocksdb::Options options;
  options.compression = rocksdb::kNoCompression;
  return options;
}

void Check(const rocksdb::Status& status) { DUNLIN_CHECK(status.ok(), status.ToString().c_str()); }

}  // namespace

double WriteTables(const std::string& folder, uint64_t records, uint32_t value_bytes) {
  std::vector<std::pair<std::array<char, kKeyBytes>, uint64_t>> keys(records);
  for (uint64_t n = 0; n < records; ++n) {
    WriteScatteredKey(n, keys[n].first.data());
    keys[n].second = n;
  }
  std::sort(keys.begin(), keys.end());
  std::string value = ValueOf(0, value_bytes);
  return TimeOf([&] {
    const rocksdb::Options options = Uncompressed();
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options), options);
    uint64_t bytes = kTableBytes;
    int tables = 0;
    for (const auto& [key, n] : keys) {
      if (bytes >= kTableBytes) {
        if (tables != 0) Check(writer.Finish());
        Check(writer.Open(folder + "/alone-" + std::to_string(tables++) + ".sst"));
        bytes = 0;
      }
      std::copy_n(reinterpret_cast<const char*>(&n), sizeof n, value.data());
      Check(writer.Put(rocksdb::Slice(key.data(), key.size()), value));
      bytes += kKeyBytes + value_bytes;
    }
    Check(writer.Finish());
  });
}

double Iterate(const std::string& database, uint64_t* entries) {
  rocksdb::DB* opened = nullptr;
  Check(rocksdb::DB::OpenForReadOnly(Uncompressed(), database, &opened));
  std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  read.fill_cache = false;
  read.readahead_size = 1 << 20;
  *entries = 0;
  uint64_t bytes = 0;
  const double seconds = TimeOf([&] {
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(read));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      ++*entries;
      bytes += it->value().size();
    }
    Check(it->status());
  });
  DUNLIN_CHECK(bytes != 0);
  return seconds;
}

}  // namespace dunlin::bench
