#include "cc/device/dynamic_tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace cavs {
namespace {

TEST(DynamicTensorTest, ATaskSeesItsOwnRows) {
  std::vector<float> data(5 * 3);
  const DynamicTensor tensor(DType::kFloat32, data.data(), 5, 3, 3,
                             Extent::kStep);
  const Block task = tensor.View(2, 3);
  EXPECT_EQ(task.data, &data[2 * 3]);
  EXPECT_EQ(task.rows, 3);
  EXPECT_EQ(task.cols, 3);
  EXPECT_EQ(task.pitch, 3);
}

TEST(DynamicTensorTest, ReusedRowsBeginAtTheFirstInEveryTask) {
  std::vector<float> data(2 * 3);
  const DynamicTensor tensor(DType::kFloat32, data.data(), 2, 3, 3,
                             Extent::kTask);
  EXPECT_EQ(tensor.View(0, 2).data, data.data());
  EXPECT_EQ(tensor.View(0, 1).data, data.data());
  EXPECT_EQ(tensor.View(1, 1).rows, 1);
}

TEST(DynamicTensorTest, AViewKeepsThePitchOfTheWhole) {
  std::vector<double> data(4 * 7);
  const DynamicTensor whole(DType::kFloat64, data.data(), 4, 7, 7,
                            Extent::kStep);
  const DynamicTensor view = whole.Columns(2, 4);
  EXPECT_EQ(view.columns(), 4);
  EXPECT_EQ(view.pitch(), 7);
  EXPECT_EQ(view.capacity(), 4);
  EXPECT_EQ(view.dtype(), DType::kFloat64);
  const Block task = view.View(3, 1);
  EXPECT_EQ(task.data, &data[3 * 7 + 2]);
  EXPECT_EQ(task.cols, 4);
  EXPECT_EQ(task.pitch, 7);
}

TEST(DynamicTensorTest, AViewOfAViewCountsFromThatView) {
  std::vector<int16_t> data(2 * 9);
  const DynamicTensor whole(DType::kInt16, data.data(), 2, 9, 9, Extent::kStep);
  const DynamicTensor view = whole.Columns(3, 5).Columns(1, 2);
  EXPECT_EQ(view.View(1, 1).data, &data[9 + 3 + 1]);
  EXPECT_EQ(view.columns(), 2);
}

TEST(DynamicTensorTest, AViewOfReusedRowsIsReused) {
  std::vector<float> data(2 * 4);
  const DynamicTensor whole(DType::kFloat32, data.data(), 2, 4, 4,
                            Extent::kTask);
  EXPECT_EQ(whole.Columns(1, 2).View(0, 2).data, &data[1]);
}

TEST(DynamicTensorTest, AViewOfRowsWithoutStorageHasNone) {
  const DynamicTensor none(DType::kFloat32, nullptr, 0, 3, 3, Extent::kChunk);
  EXPECT_EQ(none.Columns(1, 2).View(0, 0).data, nullptr);
}

TEST(DynamicTensorTest, NoRowsAndNoColumnsAreValid) {
  const DynamicTensor none(DType::kFloat32, nullptr, 0, 3, 3, Extent::kStep);
  EXPECT_EQ(none.View(0, 0).rows, 0);
  float element;
  const DynamicTensor narrow(DType::kFloat32, &element, 6, 0, 0, Extent::kStep);
  EXPECT_EQ(narrow.View(2, 4).rows, 4);
  EXPECT_EQ(narrow.Columns(0, 0).View(5, 1).cols, 0);
}

}  // namespace
}  // namespace cavs
