#include "client/kvctl/doctor/system_calls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/dcb_query.h"
#include "client/kvctl/doctor/ethtool_query.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvctl {

absl::StatusOr<std::vector<VerbsDevice>> SystemCalls::Devices() { return ListVerbsDevices(); }

int SystemCalls::OpenError(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return file.get() >= 0 ? 0 : errno;
}

absl::StatusOr<FilesystemSpace> SystemCalls::Space(const std::string& path) {
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) != 0) {
    return absl::UnavailableError(absl::StrCat("statvfs ", path, ": ", std::strerror(errno)));
  }
  return FilesystemSpace{space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize};
}

absl::StatusOr<std::multimap<std::string, std::string>> SystemCalls::Addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return absl::UnavailableError(absl::StrCat("getifaddrs: ", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
  std::multimap<std::string, std::string> addresses;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST];
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(each->ifa_addr, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
      addresses.emplace(each->ifa_name, text);
    }
  }
  return addresses;
}

LinkAnswers SystemCalls::AskLink(const std::string& netdev) {
  LinkAnswers answers;
  answers.fec = QueryFec(netdev);
  answers.module = QueryModule(netdev);
  answers.pfc_enabled = QueryPfc(netdev);
  answers.statistics = QueryStatistics(netdev);
  return answers;
}

}  // namespace dunlin::kvctl
