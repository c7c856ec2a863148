#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

constexpr char kCapIpcLock[] = "CapEff:\t0000000000004000\nCpus_allowed_list:\t0-15\n";

Tree Limit(const std::string& soft) {
  return {
      {"/proc/self/limits", "Max locked memory         " + soft + "      8388608      bytes\n"}};
}

Findings Check(const Tree& changes) {
  return CheckMemory(FactsOf(ConnectxRoce() + changes, ConnectxRoceCalls()));
}

TEST(DoctorMemory, AHealthyHost) {
  for (const Finding& finding : Check({})) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.check << ": " << finding.text;
  }
}

TEST(DoctorMemory, TheUsualMemlockLimitIsAProblemWithADevice) {
  const Finding finding = Only(Check(Limit("8388608")), "memlock");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_EQ(EvidenceOf(finding),
            "/proc/self/limits: Max locked memory = soft 8.00 MiB, hard 8.00 MiB\n");
  EXPECT_THAT(finding.remedy, HasSubstr("LimitMEMLOCK=infinity"));
  EXPECT_THAT(finding.remedy, HasSubstr("--ulimit memlock=-1"));
}

TEST(DoctorMemory, ALimitThatSufficesForAClientIsAWarning) {
  EXPECT_EQ(Only(Check(Limit("1073741824")), "memlock").level, Level::kWarning);
}

TEST(DoctorMemory, IpcLockLiftsTheLimit) {
  const Tree tree = Limit("8388608") + Tree{{"/proc/self/status", kCapIpcLock}};
  const Finding finding = Only(Check(tree), "memlock");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(finding.text, HasSubstr("CAP_IPC_LOCK"));
}

TEST(DoctorMemory, WithoutADeviceTheLimitMattersLess) {
  const HostFacts facts = FactsOf(PlainHost() + Limit("8388608"), FakeCalls());
  EXPECT_EQ(Only(CheckMemory(facts), "memlock").level, Level::kOk);
}

TEST(DoctorMemory, ALimitThatIsNotShown) {
  const HostFacts facts = FactsOf(ConnectxRoce() - "/proc/self/limits", ConnectxRoceCalls());
  EXPECT_EQ(Only(CheckMemory(facts), "memlock").level, Level::kNotShown);
}

TEST(DoctorMemory, CapabilitiesAreShownAndNotNeeded) {
  const Finding finding = Only(Check({{"/proc/self/status", kCapIpcLock}}), "capabilities");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_EQ(EvidenceOf(finding),
            "/proc/self/status: CapEff = with CAP_IPC_LOCK, without "
            "CAP_NET_RAW\n");
  const HostFacts facts = FactsOf(ConnectxRoce() - "/proc/self/status", ConnectxRoceCalls());
  EXPECT_EQ(Only(CheckMemory(facts), "capabilities").level, Level::kNotShown);
}

TEST(DoctorMemory, HugePages) {
  const std::string pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
  const Finding healthy = Only(Check({}), "huge-pages");
  EXPECT_EQ(healthy.text, "8.20 GiB reserved, 7.81 GiB free");
  EXPECT_THAT(EvidenceOf(healthy), HasSubstr("hugepages-2048kB/{nr,free}_hugepages = 4200, 4000"));
  EXPECT_THAT(EvidenceOf(healthy), HasSubstr("enabled = always [madvise] never"));
  const Finding none = Only(
      Check({{pool + "/nr_hugepages", "0\n"}, {pool + "/free_hugepages", "0\n"}}), "huge-pages");
  EXPECT_EQ(none.level, Level::kWarning);
  EXPECT_THAT(none.remedy, HasSubstr("vm.nr_hugepages"));
  const HostFacts facts = FactsOf(ConnectxRoce() - "/sys/kernel/mm/hugepages", ConnectxRoceCalls());
  EXPECT_EQ(Only(CheckMemory(facts), "huge-pages").level, Level::kNotShown);
}

TEST(DoctorMemory, ASmallShm) {
  FakeCalls calls = ConnectxRoceCalls();
  calls.space = FilesystemSpace{64u << 20, 60u << 20};
  const Finding finding = Only(CheckMemory(FactsOf(ConnectxRoce(), calls)), "shm");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("statvfs(/dev/shm) = 60.0 MiB free of 64.0 MiB"));
  EXPECT_THAT(finding.remedy, HasSubstr("--shm-size"));
}

TEST(DoctorMemory, ShmNoexecAndMissing) {
  const Finding noexec = Only(
      Check({{"/proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,nodev,noexec 0 0\n"}}), "shm");
  EXPECT_EQ(noexec.level, Level::kOk);
  EXPECT_THAT(noexec.text, HasSubstr("noexec"));
  EXPECT_EQ(Only(Check({{"/proc/self/mounts", "proc /proc proc rw 0 0\n"}}), "shm").level,
            Level::kNotShown);
}

TEST(DoctorMemory, AProcessOnAnotherNodeThanTheAdapter) {
  const Finding near = Only(Check({}), "numa");
  EXPECT_EQ(near.level, Level::kOk);
  EXPECT_EQ(near.remedy, "");
  const Finding far =
      Only(Check({{"/proc/self/status", "CapEff:\t0\nCpus_allowed_list:\t16-31\n"}}), "numa");
  EXPECT_EQ(far.level, Level::kWarning);
  EXPECT_THAT(far.text, HasSubstr("at distance 21"));
  EXPECT_THAT(EvidenceOf(far), HasSubstr("node0/distance = 10 21\n"));
  EXPECT_THAT(EvidenceOf(far), HasSubstr("Cpus_allowed_list = 16-31, of nodes 1\n"));
  EXPECT_THAT(far.remedy, HasSubstr("dunlin-server --numa-node 0"));
}

TEST(DoctorMemory, AProcessOnAllNodesIsToldWhichIsNear) {
  const Finding finding =
      Only(Check({{"/proc/self/status", "CapEff:\t0\nCpus_allowed_list:\t3,20\n"}}), "numa");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(finding.remedy, HasSubstr("--cpunodebind=0"));
}

TEST(DoctorMemory, UnknownAndOnlyNodes) {
  EXPECT_EQ(Only(Check({{"/sys/class/infiniband/mlx5_0/device/numa_node", "-1\n"}}), "numa").level,
            Level::kNotShown);
  const HostFacts facts =
      FactsOf(ConnectxRoce() - "/sys/devices/system/node/node1", ConnectxRoceCalls());
  EXPECT_EQ(Only(CheckMemory(facts), "numa").text,
            "the host has one node: all memory is equally near");
}

}  // namespace
}  // namespace dunlin::kvctl
