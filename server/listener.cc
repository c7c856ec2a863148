#include "server/listener.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/status.h"

namespace dunlin {
namespace {

absl::Status Errno(int error, const std::string& what) {
  return absl::ErrnoToStatus(error, ToAbsl(what));
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

bool SomebodyListens(const std::string& path) {
  UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address = AddressOf(path);
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno == EAGAIN;
}

struct Owner {
  uid_t user = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
};

absl::StatusOr<Owner> ParseOwner(const std::string& text) {
  Owner owner;
  size_t colon = text.find(':');
  std::string user = text.substr(0, colon);
  std::string group = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (!user.empty()) {
    const passwd* entry = getpwnam(user.c_str());
    if (entry == nullptr) {
      return absl::InvalidArgumentError("socket-owner: there is no user '" + user + "'");
    }
    owner.user = entry->pw_uid;
  }
  if (!group.empty()) {
    const ::group* entry = getgrnam(group.c_str());
    if (entry == nullptr) {
      return absl::InvalidArgumentError("socket-owner: there is no group '" + group + "'");
    }
    owner.group = entry->gr_gid;
  }
  return owner;
}

// The default's folder under /run does not survive a reboot.
absl::Status MakeParent(const std::string& path) {
  std::string parent = path.substr(0, path.rfind('/'));
  if (parent != "/run/dunlin" || mkdir(parent.c_str(), 0755) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return Errno(errno, "socket: cannot create '" + parent + "'");
}

}  // namespace

Listener::~Listener() { Close(); }

void Listener::Close() {
  // The file first: while it exists, the lock behind it is ours.
  if (bound_) unlink(path_.c_str());
  bound_ = false;
  fd_.Reset();
}

absl::Status Listener::TakeLock() {
  std::string path = path_ + ".lock";
  lock_.Reset(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_.valid()) {
    return Errno(errno, "socket: cannot create the lock file '" + path +
                            "' (its folder must exist and be writable)");
  }
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return Errno(errno, "socket: cannot lock '" + path + "'");
  return absl::AlreadyExistsError("socket: another server serves '" + path_ +
                                  "'; stop it, or choose another socket");
}

absl::Status Listener::ClearPath() const {
  struct stat info {};
  if (lstat(path_.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus()
                           : Errno(errno, "socket: cannot look at '" + path_ + "'");
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError("socket: '" + path_ +
                                    "' exists and is no socket; remove it or choose another path");
  }
  if (SomebodyListens(path_)) {
    return absl::AlreadyExistsError("socket: some other program listens on '" + path_ + "'");
  }
  if (unlink(path_.c_str()) != 0) {
    return Errno(errno, "socket: cannot remove the stale '" + path_ + "'");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const ServerOptions& options) {
  std::unique_ptr<Listener> listener(new Listener());
  listener->path_ = options.socket;
  listener->owner_ = options.socket_owner;
  DUNLIN_ASSIGN_OR_RETURN(listener->mode_, ParseMode(options.socket_mode));
  DUNLIN_RETURN_IF_ERROR(ParseOwner(options.socket_owner));
  DUNLIN_RETURN_IF_ERROR(MakeParent(options.socket));
  DUNLIN_RETURN_IF_ERROR(listener->TakeLock());
  DUNLIN_RETURN_IF_ERROR(listener->ClearPath());
  listener->fd_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener->fd_.valid()) return Errno(errno, "cannot create a socket");
  sockaddr_un address = AddressOf(options.socket);
  if (bind(listener->fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Errno(errno, "socket: cannot bind '" + options.socket + "'");
  }
  listener->bound_ = true;
  return listener;
}

absl::Status Listener::Listen() {
  DUNLIN_ASSIGN_OR_RETURN(Owner owner, ParseOwner(owner_));
  if (chmod(path_.c_str(), mode_) != 0) {
    return Errno(errno, "socket-mode: cannot set the mode of '" + path_ + "'");
  }
  if (!owner_.empty() && chown(path_.c_str(), owner.user, owner.group) != 0) {
    return Errno(errno, "socket-owner: cannot give '" + path_ + "' to '" + owner_ + "'");
  }
  if (listen(fd_.get(), SOMAXCONN) != 0) return Errno(errno, "cannot listen on '" + path_ + "'");
  return absl::OkStatus();
}

}  // namespace dunlin
