#include "common/snapshot/file_checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dunlin {
namespace {

constexpr char kName[] = "DunlinXxh3-128";

class Xxh3Generator : public rocksdb::FileChecksumGenerator {
 public:
  Xxh3Generator() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }

  void Update(const char* data, size_t bytes) override {
    XXH3_128bits_update(state_.get(), data, bytes);
  }
  void Finalize() override {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
    checksum_.assign(reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest);
  }
  std::string GetChecksum() const override { return checksum_; }
  const char* Name() const override { return kName; }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  const std::unique_ptr<XXH3_state_t, Free> state_;
  std::string checksum_;
};

class Xxh3Factory : public rocksdb::FileChecksumGenFactory {
 public:
  std::unique_ptr<rocksdb::FileChecksumGenerator> CreateFileChecksumGenerator(
      const rocksdb::FileChecksumGenContext& context) override {
    // RocksDB asks for nothing in particular, or for what it has noted of a file.
    if (!context.requested_checksum_func_name.empty() &&
        context.requested_checksum_func_name != kName) {
      return nullptr;
    }
    return std::make_unique<Xxh3Generator>();
  }
  const char* Name() const override { return "DunlinFileChecksums"; }
};

}  // namespace

std::shared_ptr<rocksdb::FileChecksumGenFactory> FileChecksums() {
  return std::make_shared<Xxh3Factory>();
}

std::string_view FileChecksumName() { return kName; }

std::string FileChecksumText(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

FileChecksum::FileChecksum() : generator_(std::make_unique<Xxh3Generator>()) {}

std::string FileChecksum::Finish() {
  generator_->Finalize();
  return FileChecksumText(generator_->GetChecksum());
}

}  // namespace dunlin
