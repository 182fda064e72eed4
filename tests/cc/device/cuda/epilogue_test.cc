// Compares products with a group as their epilogue, and perhaps with a sum that
// they form, with the same as launches of their own, to the last bit.
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/cuda/cuda_walk.h"
#include "tests/cc/cuda/fake_cuda.h"
#include "tests/cc/device/cuda/gpu_matrix.h"

namespace cavs {
namespace {

struct Size {
  int64_t rows, depth, columns;
  std::vector<int64_t> gates;  // Of each product.
  bool transpose = false, alike = false;
  bool fits = true, fits_without_walk = true;
  int terms = 0;       // Of a sum that all products but the last read; or 0.
  bool exact = false;  // Whether sums of products are, whatever their order.
};

enum class Way { kAlone, kTogether, kWalk };

// The square of the sum of all gates, and the sum in place of the last one.
ElementwiseGroup SquareOfSum(int gates) {
  using Instruction = ElementwiseGroup::Instruction;
  ElementwiseGroup group;
  group.num_operands = gates + 1;
  const auto last = static_cast<int16_t>(gates - 1);
  const auto out = static_cast<int16_t>(gates);
  const auto pass = Elementwise::kIdentity;
  for (int16_t i = 0; i < last; ++i) {
    group.instructions.push_back(
        Instruction{Elementwise::kAdd, i, last, last, pass, 0});
  }
  group.instructions.push_back(
      Instruction{Elementwise::kSquare, last, last, out, pass, 0});
  return group;
}

// x0 + x1 + ...
ElementwiseGroup SumOf(int terms) {
  ElementwiseGroup group;
  group.num_operands = terms + 1;
  const auto out = static_cast<int16_t>(terms);
  for (int16_t i = 1; i < terms; ++i) {
    const int16_t x = i == 1 ? 0 : out;
    group.instructions.push_back(
        {Elementwise::kAdd, x, i, out, Elementwise::kIdentity, 0});
  }
  return group;
}

class EpilogueTest : public GpuTest {
 protected:
  template <typename T>
  static void Fill(const Size& size, uint32_t seed, HostMatrix<T>* matrix) {
    size.exact ? matrix->Fill(seed) : matrix->FillUnevenly(seed);
  }

  // The terms of a sum: rows by index, some of them the row of zeros.
  template <typename T>
  struct Terms {
    Terms(const CudaDriver& driver, const Size& size) {
      for (int t = 0; t < size.terms; ++t) {
        HostMatrix<T> term(size.rows, size.depth, 4);
        Fill(size, t + 5, &term);
        matrices.push_back(std::make_unique<GpuMatrix<T>>(driver, term));
        std::vector<int32_t> index(size.rows);
        for (int64_t i = 0; i < size.rows; ++i) {
          index[i] = static_cast<int32_t>((7 * i + t) % (size.rows + 1)) - 1;
        }
        indices.push_back(std::make_unique<GpuMemory>(driver, index));
      }
    }
    CudaRowSum To(const GpuMatrix<T>& to) const {
      CudaRowSum sum;
      sum.to = to.block();
      for (size_t t = 0; t < matrices.size(); ++t) {
        sum.terms.push_back(
            matrices[t]->rows(indices[t]->template as<int32_t>(), sum.to.rows));
      }
      return sum;
    }
    std::vector<std::unique_ptr<GpuMatrix<T>>> matrices;
    std::vector<std::unique_ptr<GpuMemory>> indices;
  };

  // A sum as a launch of its own.
  void Form(DType dtype, const CudaRowSum& sum, const CudaQueue& queue) {
    const int terms = static_cast<int>(sum.terms.size());
    const CudaFoundKernel kernel(
        CudaTextKernel(TextOfGroup(SumOf(terms), dtype), 0));
    const CudaRowGrid grid = kernels->GridOverRows(sum.to.rows, sum.to.cols);
    CudaGroupArgs arguments;
    arguments.rows = sum.to.rows;
    arguments.columns = sum.to.cols;
    arguments.shift = grid.shift;
    arguments.block_rows = kCudaThreads >> grid.shift;
    for (int t = 0; t < terms; ++t) {
      arguments.operands[t] = {sum.terms[t].data, sum.terms[t].index,
                               sum.terms[t].pitch, 1, 1};
    }
    arguments.operands[terms] = {sum.to.data, nullptr, sum.to.pitch, 1, 1};
    const Status status = kernels->Launch(kernel, grid.grid, queue, &arguments,
                                          sizeof(arguments));
    EXPECT_TRUE(status.ok()) << status.message();
    Wait();
  }

  // What products and the group write.
  template <typename T>
  std::vector<HostMatrix<T>> Run(const Size& size, Way way) {
    const DType dtype = kDTypeOf<T>;
    HostMatrix<T> x(size.rows, size.depth, 4);
    Fill(size, 1, &x);
    for (int64_t i = 0; size.alike && i < size.rows; ++i) {
      for (int64_t k = 0; k < size.depth; ++k) x.at(i, k) = x.at(0, k);
    }
    const Terms<T> terms(driver(), size);
    std::vector<std::unique_ptr<GpuMatrix<T>>> weights, results;
    results.push_back(std::make_unique<GpuMatrix<T>>(
        driver(),
        size.terms > 0 ? HostMatrix<T>(size.rows, size.depth, 4) : x));
    const GpuMatrix<T>& from = *results[0];
    const CudaRowSum sum = terms.To(from);
    std::vector<CudaProduct> products;
    CudaGroupArgs arguments;
    arguments.rows = size.rows;
    arguments.columns = size.columns;
    int gates = 0;
    for (const int64_t own : size.gates) {
      const int64_t width = own * size.columns;
      HostMatrix<T> weight(size.transpose ? width : size.depth,
                           size.transpose ? size.depth : width, 4);
      HostMatrix<T> to(size.rows, width, 4);
      Fill(size, width + gates, &weight), Fill(size, 3, &to);
      weights.push_back(std::make_unique<GpuMatrix<T>>(driver(), weight));
      results.push_back(std::make_unique<GpuMatrix<T>>(driver(), to));
      CudaProduct product;
      product.terms = {{from.rows(nullptr, size.rows), weights.back()->data(),
                        weight.pitch, size.transpose}};
      product.to = results.back()->block();
      product.accumulate = true;
      product.alike = size.alike;
      for (int64_t gate = 0; gate < own; ++gate) {
        arguments.operands[gates++] = {
            results.back()->data() + gate * size.columns, nullptr, to.pitch, 1,
            1};
      }
      products.push_back(std::move(product));
    }
    if (size.terms > 0) products.back().terms[0].from = sum.terms[0];
    const HostMatrix<T> out(size.rows, size.columns, 3);
    results.push_back(std::make_unique<GpuMatrix<T>>(driver(), out));
    arguments.operands[gates] = {results.back()->data(), nullptr, out.pitch, 1,
                                 1};
    const size_t bytes = offsetof(CudaGroupArgs, operands) +
                         (gates + 1) * sizeof(CudaGroupArgs::Operand);
    const auto text = TextOfGroup(SquareOfSum(gates), dtype);
    const CudaFoundKernel alone(CudaTextKernel(text, 0));
    const CudaFoundKernel together(CudaTextKernel(
        TextOfProductsThenGroup(*text, dtype, size.terms > 0), 0));
    CudaWalk walk;
    const CudaQueue queue(stream, way == Way::kWalk ? &walk : nullptr);
    bool fits = false;
    Status status;
    if (way != Way::kAlone) {
      status = kernels->MultiplyThen(
          dtype, products, {&alone, &together, &arguments, bytes, sum}, queue,
          [&] { fits = true; });
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(fits, way == Way::kWalk ? size.fits : size.fits_without_walk);
    }
    if (!fits) {
      if (size.terms > 0) Form(dtype, sum, stream);
      status = kernels->Multiply(dtype, products, queue);
      EXPECT_TRUE(status.ok()) << status.message();
      const CudaRowGrid grid = kernels->GridOverRows(size.rows, size.columns);
      arguments.shift = grid.shift;
      arguments.block_rows = kCudaThreads >> grid.shift;
      status = kernels->Launch(alone, grid.grid, queue, &arguments, bytes);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    if (way == Way::kWalk) {
      // Enough launches for a walk: sums that nobody reads.
      const GpuMatrix<Wide<T>> sums(driver(), HostMatrix<Wide<T>>(1, 1));
      for (int i = 0; i < 6; ++i) {
        status = kernels->Add(dtype, results[0]->data(), 1, sums.data(), queue);
        EXPECT_TRUE(status.ok()) << status.message();
      }
      const GpuMemory room(driver(), 1 << 16);
      status = walk.Run(*kernels, stream, room.data(), 1 << 16);
      EXPECT_TRUE(status.ok()) << status.message();
      Wait();
    }
    Wait();
    std::vector<HostMatrix<T>> all;
    for (const auto& own : results) all.push_back(own->Read());
    return all;
  }

  template <typename T>
  void Check(const Size& size) {
    SCOPED_TRACE(testing::Message()
                 << size.rows << " x " << size.depth << ", " << size.columns
                 << " columns of " << size.gates.size() << " products");
    const std::vector<HostMatrix<T>> want = Run<T>(size, Way::kAlone);
    for (const Way way : {Way::kTogether, Way::kWalk}) {
      const std::vector<HostMatrix<T>> got = Run<T>(size, way);
      for (size_t k = 0; k < want.size(); ++k) {
        for (int64_t i = 0; i < want[k].rows; ++i) {
          ASSERT_EQ(std::memcmp(&got[k].at(i, 0), &want[k].at(i, 0),
                                want[k].cols * sizeof(T)),
                    0)
              << "value " << k << ", row " << i << ", way "
              << static_cast<int>(way);
        }
      }
    }
  }
};

TEST_F(EpilogueTest, HasTheBitsOfALaunchOfItsOwn) {
  for (const Size& size : {
           Size{1, 4, 4, {1}},
           Size{37, 36, 40, {1}},
           Size{20, 64, 12, {2}, true},
           Size{16, 33, 8, {3}, false, false, true, false},
           Size{40, 20, 20, {3, 1, 1}},
           Size{33, 40, 16, {1, 1, 1}, true},
           Size{17, 8, 4, {4, 4}},
           Size{3, 5, 7, {2, 1}, false, false, true, false},
           Size{21, 16, 12, {2, 1}, false, true},
       }) {
    Check<float>(size);
    if (HasFailure()) return;
  }
  const Size size = {40, 20, 20, {3, 1, 1}};
  Check<double>(size);
  Check<BFloat16>(size);
  Check<Float16>(size);
}

TEST_F(EpilogueTest, HasTheBitsOfASumOfItsOwn) {
  for (const int terms : {2, 3, 4}) {
    for (Size size : {
             Size{1, 4, 4, {1, 1}},
             Size{37, 36, 40, {1, 1}},
             Size{20, 300, 12, {2, 1}, true},
             Size{40, 20, 20, {3, 1, 1}},
             Size{128, 68, 8, {3, 1, 1}},
         }) {
      size.terms = terms;
      Check<float>(size);
      if (HasFailure()) return;
    }
  }
  Size size = {40, 20, 20, {3, 1, 1}};
  size.terms = 2;
  Check<double>(size);
  Check<BFloat16>(size);
  Check<Float16>(size);
}

// The tiles of deep products have 16 columns, or 8, but not always with a
// group.
TEST_F(EpilogueTest, HasTheBitsOfALaunchOfItsOwnInNarrowTiles) {
  const ProcessorsOfFakeCuda processors(132);
  std::shared_ptr<const CudaContext> context;
  ASSERT_TRUE(CudaContext::Open(0, {}, &context).ok());
  kernels = std::make_shared<CudaKernels>(context);
  for (Size size : {
           Size{1, 64, 40, {1}},
           Size{4, 128, 20, {3, 1, 1}},
           Size{7, 64, 12, {2, 1}, true},
           Size{20, 128, 12, {2}, true},
           Size{40, 132, 20, {3, 1, 1}},
           Size{16, 256, 32, {4, 4}},
           Size{30, 132, 4, {2, 1}, false, true},
       }) {
    for (const int terms : {0, 2}) {
      if (terms > 0 && (size.alike || size.gates.size() == 1)) continue;
      size.terms = terms;
      size.exact = true;
      Check<float>(size);
      if (HasFailure()) return;
    }
  }
}

// More terms than there may be, numbers that are not read four at a time, more
// numbers than fit into shared memory, or rows that are all alike.
TEST_F(EpilogueTest, ASumIsALaunchOfItsOwnIfProductsCannotFormIt) {
  for (Size size : {
           Size{4, 8, 4, {1, 1}, false, false, false, false, 5},
           Size{4, 6, 4, {1, 1}, false, false, false, false, 2},
           Size{4, 4096, 4, {1, 1}, false, false, false, false, 2},
           Size{4, 8, 4, {1, 1}, false, true, false, false, 2},
       }) {
    Check<float>(size);
  }
}

// More gates, more rows, or many more blocks than of the products alone: two
// launches.
TEST_F(EpilogueTest, IsALaunchOfItsOwnIfThatIsFaster) {
  Size size = {4, 8, 4, {8, 1}};
  size.fits = size.fits_without_walk = false;
  Check<float>(size);
  size = {129, 8, 4, {1}, false, false, false, false};
  Check<float>(size);
  if (kernels->context().num_processors() > 8) return;
  // 5 of 8 threads side by side have columns.
  size = {128, 8, 96, {3, 1, 1}, false, false, false, false};
  Check<float>(size);
}

}  // namespace
}  // namespace cavs
