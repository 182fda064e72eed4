#include "cc/device/reference/reference_device.h"

#include <gtest/gtest.h>

#include <random>

#include "cc/ir/print.h"
#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"

namespace cavs {
namespace {

double ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-11;
    case DType::kFloat32:
      return 2e-4;
    default:
      return 0.05;  // One device may round a number up and the other down.
  }
}

// Both devices run programs that were compiled for the CPU.
TEST(ReferenceDeviceTest, TheCpuComputesTheSame) {
  for (DType dtype : FloatTypes::kDTypes) {
    for (uint32_t seed = 0; seed < NumSeeds(30); ++seed) {
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", " << ToString(dtype));
      std::mt19937 random(seed);
      const int num_types = 1 + seed % 3;
      const Cell cell =
          RandomCell(dtype, num_types, &random, seed % 4 ? 1 : 32);
      const Experiment experiment(
          cell,
          WithRandomTypes(RandomDag(25, cell.arity, &random), num_types,
                          &random),
          seed);
      PassOptions options;
      options.fuse = seed % 5 != 0;
      options.views = seed % 7 != 0;
      const CellExecutor cpu(cell, options, The<CpuTestDevice>());
      const CellExecutor reference(cell, options, The<ReferenceTestDevice>());
      ExpectNear(cpu.Run(experiment), reference.Run(experiment),
                 ToleranceOf(dtype));
      if (HasFailure()) return;
    }
  }
}

TEST(ReferenceDeviceTest, SumsOfNarrowTypesAreRoundedOnce) {
  ReferenceStream stream;
  const auto add_up = [&](auto zero) {
    using T = decltype(zero);
    // If it were added to 1 in T, it would be lost.
    const T small = FromWide<T>(1.0f / 4096);
    float sum = 1;
    for (int i = 0; i < 4096; ++i) {
      ASSERT_TRUE(stream.Add(kDTypeOf<T>, &small, 1, &sum).ok());
    }
    EXPECT_EQ(sum, 2);
  };
  for (DType dtype : FloatTypes::kDTypes) {
    if (IsNarrow(dtype)) WithFloatType(dtype, add_up);
  }
}

TEST(ReferenceDeviceTest, OtherTypesCannotBeAddedUp) {
  const int32_t term = 1;
  int32_t sum = 1;
  EXPECT_EQ(ReferenceStream().Add(DType::kInt32, &term, 1, &sum).code(),
            StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace cavs
