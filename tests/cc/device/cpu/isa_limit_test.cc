#include "cc/device/cpu/isa_limit.h"

#include <gtest/gtest.h>

namespace cavs {
namespace {

TEST(IsaLimitTest, NamesAreLimits) {
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    Isa most;
    EXPECT_TRUE(ReadIsaLimit(IsaName(isa), &most).ok());
    EXPECT_EQ(most, isa);
  }
}

TEST(IsaLimitTest, WithoutTheVariableEverythingIsAllowed) {
  Isa most = Isa::kPortable;
  EXPECT_TRUE(ReadIsaLimit(nullptr, &most).ok());
  EXPECT_EQ(most, Isa::kAvx512Bf16);
}

TEST(IsaLimitTest, RejectsOtherValues) {
  for (const char* value : {"", "AVX2", "sse4"}) {
    Isa most;
    EXPECT_EQ(ReadIsaLimit(value, &most).message(),
              "CAVS_MAX_CPU_ISA: got '" + std::string(value) +
                  "' but expected one of portable, avx2, avx512, avx512bf16. "
                  "Correct the environment variable, or unset it.");
    EXPECT_EQ(most, Isa::kAvx512Bf16);
  }
}

TEST(IsaLimitTest, TheBestInstructionSetIsAllowed) {
  EXPECT_LE(static_cast<int>(BestIsa()), static_cast<int>(IsaLimit()));
}

}  // namespace
}  // namespace cavs
