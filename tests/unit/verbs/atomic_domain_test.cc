#include "common/fabric/verbs/atomic_domain.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;
using Device = AtomicDomainFacts::Device;
using enum AtomicDomainRequest;

const Device kMlx{"mlx5_0", VerbsAtomics::kDevice};
const Device kOther{"mlx5_1", VerbsAtomics::kDevice};
const Device kSiw{"siw0", VerbsAtomics::kNone};
const Device kGlob{"glob0", VerbsAtomics::kGlobal};
const Device kGlob2{"glob1", VerbsAtomics::kGlobal};

struct Case {
  const char* name;
  AtomicDomainFacts facts;
  // Empty: kNic is fine. Else what is in its way, and what the remedy speaks of.
  const char* obstacle;
  const char* remedy;
};

const Case kCases[] = {
    {"one device with atomics", {{kMlx}, false, false}, "", ""},
    {"one device that is atomic to all", {{kGlob}, false, false}, "", ""},
    {"the same beside shm and tcp", {{kGlob}, true, true}, "", ""},
    {"two that are atomic to all", {{kGlob, kGlob2}, true, false}, "", ""},
    {"no device", {{}, true, true}, "no RDMA device", "rdma://"},
    {"no atomics", {{kSiw}, false, false}, "siw0 has no atomics", "a device that has"},
    {"one of two has none", {{kMlx, kSiw}, false, false}, "siw0 has no atomics", "a device"},
    {"two devices", {{kMlx, kOther}, false, false}, "mlx5_0, mlx5_1", "address of one device"},
    {"a global one and another", {{kGlob, kMlx}, false, false}, "several devices", "one device"},
    {"shm beside it", {{kMlx}, true, false}, "over shared memory", "switch those sessions off"},
    {"tcp beside it", {{kMlx}, false, true}, "over tcp", "switch those sessions off"},
    {"both beside it", {{kMlx}, true, true}, "shared memory and tcp", "switch those"},
};

TEST(AtomicDomainTest, Table) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    const bool fine = *one.obstacle == 0;
    const auto automatic = ChooseAtomicDomain(one.facts, kAuto);
    ASSERT_TRUE(automatic.ok());
    EXPECT_EQ(automatic->domain, fine ? AtomicDomain::kNic : AtomicDomain::kCpu);
    EXPECT_THAT(automatic->reason, HasSubstr(fine ? one.facts.devices[0].name : one.obstacle));
    const auto forced = ChooseAtomicDomain(one.facts, kNic);
    EXPECT_EQ(forced.ok(), fine);
    if (!fine) {
      EXPECT_EQ(forced.status().code(), absl::StatusCode::kFailedPrecondition);
      const std::string message(forced.status().message());
      EXPECT_THAT(message, HasSubstr(one.obstacle));
      EXPECT_THAT(message, HasSubstr(one.remedy));
      EXPECT_THAT(message, HasSubstr("'cpu' or 'auto'"));
    }
    const auto cpu = ChooseAtomicDomain(one.facts, kCpu);
    ASSERT_TRUE(cpu.ok());
    EXPECT_EQ(cpu->domain, AtomicDomain::kCpu);
  }
}

TEST(AtomicDomainTest, ParsesRequests) {
  EXPECT_EQ(ParseAtomicDomainRequest("auto"), kAuto);
  EXPECT_EQ(ParseAtomicDomainRequest("nic"), kNic);
  EXPECT_EQ(ParseAtomicDomainRequest("cpu"), kCpu);
  EXPECT_EQ(ParseAtomicDomainRequest("NIC"), std::nullopt);
  EXPECT_EQ(ParseAtomicDomainRequest(""), std::nullopt);
}

}  // namespace
}  // namespace dunlin
