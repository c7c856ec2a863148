#include "client/kvctl/commands/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

absl::Status IoError(std::string_view what, const std::string& path) {
  const int error = errno;
  return absl::InternalError(absl::StrCat(ToAbsl(what), " ", path, ": ", std::strerror(error)));
}

// Makes a rename durable.
absl::Status SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return IoError("cannot open", folder);
  if (::fsync(fd.get()) != 0) return IoError("cannot sync", folder);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  std::unique_ptr<OutputFile> file(new OutputFile());
  file->path_ = path;
  struct stat status {};
  const bool in_place = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string target = in_place ? path : path + ".partial";
  const int flags = O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_TRUNC);
  file->fd_.Reset(::open(target.c_str(), flags, 0666));
  if (!file->fd_.valid()) return IoError("cannot open", target);
  if (!in_place) file->partial_path_ = target;
  file->sink_ = std::make_unique<FdSink>(file->fd_.get(), target);
  return file;
}

OutputFile::~OutputFile() {
  if (!partial_path_.empty()) ::unlink(partial_path_.c_str());
}

absl::Status OutputFile::Commit() {
  DUNLIN_RETURN_IF_ERROR(sink_->Flush());
  if (partial_path_.empty()) return absl::OkStatus();
  if (::fsync(fd_.get()) != 0) return IoError("cannot sync", partial_path_);
  if (std::rename(partial_path_.c_str(), path_.c_str()) != 0) {
    return IoError("cannot rename " + partial_path_ + " to", path_);
  }
  partial_path_.clear();
  return SyncFolderOf(path_);
}

}  // namespace dunlin::kvctl
