#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

Finding Limits(const std::function<void(VerbsDevice&)>& change) {
  FakeCalls calls = ConnectxRoceCalls();
  change(calls.devices->front());
  return Only(CheckLimits(FactsOf(ConnectxRoce(), calls)), "limits");
}

Finding Atomics(VerbsAtomics atomics) {
  FakeCalls calls = ConnectxRoceCalls();
  calls.devices->front().atomics = atomics;
  return Only(CheckLimits(FactsOf(ConnectxRoce(), calls)), "atomics");
}

TEST(DoctorLimits, AmpleLimitsAreShown) {
  const Finding finding = Limits([](VerbsDevice&) {});
  EXPECT_EQ(finding.level, Level::kOk);
  const std::string evidence = EvidenceOf(finding);
  EXPECT_THAT(evidence, HasSubstr("ibv_query_device(mlx5_0) = max_mr_size without limit\n"));
  EXPECT_THAT(evidence, HasSubstr("max_qp 131072\n"));
  EXPECT_THAT(evidence, HasSubstr("max_qp_rd_atom 16\n"));
  EXPECT_THAT(evidence, HasSubstr("max_cqe 4194303\n"));
  EXPECT_THAT(evidence, HasSubstr("max_sge 30, of a READ 30\n"));
}

TEST(DoctorLimits, NoReadDepthIsAProblem) {
  const Finding finding = Limits([](VerbsDevice& device) { device.max_qp_rd_atom = 0; });
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(finding.text, HasSubstr("can't READ"));
}

TEST(DoctorLimits, FewQueuePairsAndShortQueuesAreWarnings) {
  EXPECT_EQ(Limits([](VerbsDevice& device) { device.max_qp = 100; }).level, Level::kWarning);
  EXPECT_EQ(Limits([](VerbsDevice& device) { device.max_cqe = 128; }).level, Level::kWarning);
}

TEST(DoctorLimits, AShallowReadDepthIsSaid) {
  const Finding finding = Limits([](VerbsDevice& device) { device.max_qp_rd_atom = 4; });
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(finding.text, HasSubstr("at most 4 READs"));
}

TEST(DoctorLimits, SmallRegistrationsAreComparedWithTheMemory) {
  const Finding finding = Limits([](VerbsDevice& device) { device.max_mr_bytes = 2ull << 30; });
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(finding.text, HasSubstr("a region beyond 2.00 GiB takes several registrations"));
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("MemTotal = 64.0 GiB"));
}

TEST(DoctorLimits, TheAtomicDomainFollows) {
  EXPECT_THAT(Atomics(VerbsAtomics::kNone).text, HasSubstr("the atomic domain is cpu"));
  EXPECT_THAT(EvidenceOf(Atomics(VerbsAtomics::kNone)), HasSubstr("IBV_ATOMIC_NONE"));
  EXPECT_THAT(Atomics(VerbsAtomics::kDevice).text, HasSubstr("the atomic domain is nic while"));
  EXPECT_THAT(Atomics(VerbsAtomics::kGlobal).text, HasSubstr("the atomic domain is nic"));
}

TEST(DoctorLimits, NotShownWithoutTheLibrary) {
  const Finding finding = Only(CheckLimits(FactsOfFiles(ConnectxRoce())), "limits");
  EXPECT_EQ(finding.level, Level::kNotShown);
}

}  // namespace
}  // namespace dunlin::kvctl
