#include "client/kvctl/doctor/system_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "client/kvctl/doctor/dcb_query.h"
#include "client/kvctl/doctor/ethtool_query.h"
#include "client/kvctl/doctor/file_tree.h"
#include "common/base/status.h"

// Against the host that runs the test, whatever it has.

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

template <typename T>
void ExpectAnswerOrReason(const absl::StatusOr<T>& answer) {
  if (answer.ok()) return;
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable) << answer.status();
  EXPECT_FALSE(answer.status().message().empty());
}

TEST(SystemCalls, EveryInterfaceAnswersOrSaysWhyNot) {
  SystemCalls calls;
  for (const std::string& netdev : FolderTree("/").Names("/sys/class/net")) {
    SCOPED_TRACE(netdev);
    const LinkAnswers answers = calls.AskLink(netdev);
    ExpectAnswerOrReason(answers.fec);
    ExpectAnswerOrReason(answers.module);
    ExpectAnswerOrReason(answers.pfc_enabled);
    ExpectAnswerOrReason(answers.statistics);
  }
}

TEST(SystemCalls, AnInterfaceThatIsNotThere) {
  for (const std::string& netdev : {std::string("no-such-if0"), std::string(100, 'x')}) {
    EXPECT_THAT(std::string(FromAbsl(QueryFec(netdev).status().message())),
                ::testing::AnyOf(HasSubstr("ETHTOOL_GFECPARAM: No such device"),
                                 HasSubstr("no interface has so long a name")));
    EXPECT_FALSE(QueryModule(netdev).ok());
    EXPECT_FALSE(QueryStatistics(netdev).ok());
    EXPECT_THAT(std::string(FromAbsl(QueryPfc(netdev).status().message())),
                HasSubstr("DCB_CMD_IEEE_GET"));
  }
}

TEST(SystemCalls, FilesAndFilesystems) {
  SystemCalls calls;
  EXPECT_EQ(calls.OpenError("/dev/null"), 0);
  EXPECT_EQ(calls.OpenError("/dev/no-such-file"), ENOENT);
  const auto space = calls.Space("/");
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_GT(space->total_bytes, 0u);
  EXPECT_LE(space->free_bytes, space->total_bytes);
  EXPECT_THAT(std::string(FromAbsl(calls.Space("/no/such").status().message())),
              HasSubstr("statvfs /no/such"));
}

TEST(SystemCalls, DevicesAreListedWithTheirPorts) {
  SystemCalls calls;
  const auto devices = calls.Devices();
  ASSERT_TRUE(devices.ok()) << devices.status();
  // The kernel's list is the other witness; a provider may be missing, but not a device.
  EXPECT_LE(devices->size(), FolderTree("/").Names("/sys/class/infiniband").size());
  for (const VerbsDevice& device : *devices) {
    EXPECT_NE(device.name, "");
    EXPECT_EQ(device.status.ok(), !device.ports.empty()) << device.status;
  }
}

TEST(SystemCalls, AddressesHaveInterfaces) {
  SystemCalls calls;
  const auto addresses = calls.Addresses();
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  for (const auto& [netdev, address] : *addresses) {
    EXPECT_TRUE(FolderTree("/").Exists("/sys/class/net/" + netdev.substr(0, netdev.find(':'))))
        << netdev;
    EXPECT_NE(address, "");
  }
}

}  // namespace
}  // namespace dunlin::kvctl
