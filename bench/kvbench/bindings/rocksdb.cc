#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "bench/kvbench/bindings/bindings.h"
#include "common/base/size_text.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

struct Settings {
  std::string folder;  // empty: a temporary one
  bool wal = false;
  uint64_t cache_bytes = 0;
};

rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }

// A database, and its folder if that is to go with it.
class Database {
 public:
  static absl::StatusOr<std::shared_ptr<Database>> Open(const Settings& settings) {
    auto database = std::shared_ptr<Database>(new Database());
    std::string folder = settings.folder;
    if (folder.empty()) {
      folder = (std::filesystem::temp_directory_path() / "kvbench-rocksdb-XXXXXX").string();
      if (mkdtemp(folder.data()) == nullptr) {
        return absl::InternalError("cannot make the folder " + folder +
                                   "; name one with -p rocksdb.dir=FOLDER");
      }
      database->temporary_ = folder;
    }
    database->cache_ = rocksdb::NewLRUCache(settings.cache_bytes);
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = database->cache_;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, folder, &opened);
    if (!status.ok()) {
      return absl::InternalError("cannot open the database in " + folder + ": " +
                                 status.ToString());
    }
    database->db_.reset(opened);
    database->write_.disableWAL = !settings.wal;
    return database;
  }

  ~Database() {
    // What is kept without a log is lost unless it is flushed.
    if (db_ != nullptr && temporary_.empty()) {
      const rocksdb::Status flushed = db_->Flush(rocksdb::FlushOptions());
      if (!flushed.ok()) {
        std::fprintf(stderr, "rocksdb: what was written is lost: %s\n", flushed.ToString().c_str());
      }
    }
    db_.reset();
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
  }

  rocksdb::DB& db() { return *db_; }
  const rocksdb::WriteOptions& write() const { return write_; }
  uint64_t MemoryBytes() {
    uint64_t tables = 0;
    uint64_t readers = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &tables);
    db_->GetIntProperty(rocksdb::DB::Properties::kEstimateTableReadersMem, &readers);
    return tables + readers + cache_->GetUsage();
  }

 private:
  Database() = default;
  std::string temporary_;
  std::shared_ptr<rocksdb::Cache> cache_;
  rocksdb::WriteOptions write_;
  std::unique_ptr<rocksdb::DB> db_;
};

class Session : public BindingSession {
 public:
  explicit Session(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  void Execute(std::span<Request> requests) override {
    for (rocksdb::PinnableSlice& value : values_) value.Reset();
    if (requests.size() == 1) {
      if (values_.empty()) values_.resize(1);
      One(requests[0]);
      return;
    }
    Read(requests);
    Write(requests);
  }
  std::string last_error() const override { return error_; }

 private:
  void One(Request& request) {
    rocksdb::DB& db = database_->db();
    switch (request.op) {
      case Op::kRead:
        Found(request, db.Get(read_, db.DefaultColumnFamily(), ToSlice(request.key), &values_[0]),
              values_[0]);
        return;
      case Op::kUpdate:
      case Op::kInsert:
        request.returned =
            Ended(db.Put(database_->write(), ToSlice(request.key), ToSlice(request.value)));
        return;
      case Op::kDelete:
        request.returned = Ended(db.Delete(database_->write(), ToSlice(request.key)));
        return;
    }
  }

  void Read(std::span<Request> requests) {
    keys_.clear();
    for (const Request& request : requests) {
      if (request.op == Op::kRead) keys_.push_back(ToSlice(request.key));
    }
    if (keys_.empty()) return;
    if (values_.size() < keys_.size()) values_ = std::vector<rocksdb::PinnableSlice>(keys_.size());
    statuses_.resize(keys_.size());
    rocksdb::DB& db = database_->db();
    db.MultiGet(read_, db.DefaultColumnFamily(), keys_.size(), keys_.data(), values_.data(),
                statuses_.data());
    size_t at = 0;
    for (Request& request : requests) {
      if (request.op != Op::kRead) continue;
      Found(request, statuses_[at], values_[at]);
      ++at;
    }
  }

  void Write(std::span<Request> requests) {
    batch_.Clear();
    for (Request& request : requests) {
      if (request.op != Op::kRead) request.returned = Ended(Add(request));
    }
    if (batch_.Count() == 0) return;
    const Return written = Ended(database_->db().Write(database_->write(), &batch_));
    for (Request& request : requests) {
      if (request.op != Op::kRead && request.returned == Return::kOk) request.returned = written;
    }
  }

  rocksdb::Status Add(const Request& request) {
    const rocksdb::Slice key = ToSlice(request.key);
    return request.op == Op::kDelete ? batch_.Delete(key) : batch_.Put(key, ToSlice(request.value));
  }

  void Found(Request& request, const rocksdb::Status& status, const rocksdb::PinnableSlice& value) {
    request.returned = status.IsNotFound() ? Return::kNotFound : Ended(status);
    if (status.ok()) request.found = {value.data(), value.size()};
  }

  Return Ended(const rocksdb::Status& status) {
    if (status.ok()) return Return::kOk;
    error_ = status.ToString();
    return Return::kError;
  }

  const std::shared_ptr<Database> database_;
  const rocksdb::ReadOptions read_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Slice> keys_;
  std::vector<rocksdb::Status> statuses_;
  rocksdb::WriteBatch batch_;
  std::string error_;
};

class RocksDb : public Binding {
 public:
  RocksDb(std::shared_ptr<Database> database, bool wal)
      : database_(std::move(database)), wal_(wal) {}

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return std::make_unique<Session>(database_);
  }
  ServerUse Use() override {
    ServerUse use;
    use.known = true;
    use.memory_bytes = database_->MemoryBytes();
    return use;
  }
  std::string Describe() const override {
    return "rocksdb " + rocksdb::GetRocksVersionAsString(true) + ", in process, " +
           (wal_ ? "with" : "without") + " a log";
  }

 private:
  const std::shared_ptr<Database> database_;
  const bool wal_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeRocksDb(const Properties& properties) {
  Settings settings;
  settings.folder = properties.Get("rocksdb.dir", "");
  DUNLIN_ASSIGN_OR_RETURN(settings.wal, properties.GetBool("rocksdb.wal", false));
  auto cache = ParseSize(properties.Get("rocksdb.cache", "1GiB"));
  if (!cache.ok()) return WithContext(cache.status(), "rocksdb.cache");
  settings.cache_bytes = *cache;
  DUNLIN_ASSIGN_OR_RETURN(std::shared_ptr<Database> database, Database::Open(settings));
  return std::make_unique<RocksDb>(std::move(database), settings.wal);
}

}  // namespace dunlin::kvbench
