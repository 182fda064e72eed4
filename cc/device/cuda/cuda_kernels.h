// Launches of the kernels that do not depend on a program.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_KERNELS_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/status.h"
#include "cc/device/block.h"
#include "cc/device/cuda/cuda_context.h"
#include "cc/device/cuda/cuda_memory.h"
#include "cc/device/cuda/source/group.h"
#include "cc/device/cuda/source/kernels.h"
#include "cc/device/cuda/source/text.h"
#include "cc/ir/foreign_op.h"

namespace cavs {

// Up to so many rows, a product is bound by the time until its operands are
// there, so that many small tiles are faster than few large ones. They are
// never rounded to TF32.
constexpr int64_t kCudaFewRows = 128;

// Row r of `to` becomes row r of `from`, or, if `via` is given, row
// via[r] - first_via. Indices may be null; a row from -1, or from no memory, is
// zero, and a row to -1 goes nowhere.
struct CudaMove {
  size_t size = 0;  // Bytes of an element.
  ConstBlock from;
  Block to;
  const int32_t* to_index = nullptr;
  const int32_t* via = nullptr;
  int64_t first_via = 0;
};

// to (+)= the sum of the terms, each of them rows times a weight. Row k of a
// weight is k * pitch elements from its data.
struct CudaProduct {
  struct Term {
    ConstBlock from;
    const void* weight = nullptr;
    int64_t pitch = 0;
    bool transpose = false;
  };
  std::vector<Term> terms;
  Block to;
  bool accumulate = false;
  bool alike = false;  // Whether all rows of each term are alike.
};

// Row r of `to` becomes the sum of row r of the terms, in this order.
struct CudaRowSum {
  std::vector<ConstBlock> terms;
  Block to;
};

// A group behind products, over the same rows. In each product lie `columns`
// columns of it side by side once or more; a block reads only what it has
// computed itself, and what no block of the launch writes. If there is a sum,
// the products whose operand it is read it as it is formed.
struct CudaEpilogue {
  const CudaFoundKernel* group;
  // The products and the group as one kernel, which reads four elements at a
  // time, and knows sums if there is one.
  const CudaFoundKernel* together;
  CudaGroupArgs* arguments;  // Without `shift` and `block_rows`.
  size_t bytes;
  const CudaRowSum& sum;  // Without terms: none.
};

// A sum over rows: of transpose(x) * y, or, if x has no columns, of y.
struct CudaSum {
  ConstBlock x, y;
  void* to = nullptr;  // In SumType of the operands.
  bool accumulate = false;
  int64_t zeros = 0;  // So many of the first rows of x are zero.
};

// A grid over rows and columns. 2^shift threads of a block compute adjacent
// columns of one row. A grid may be smaller than the number of rows: each block
// then goes on with rows that lie one grid further.
struct CudaRowGrid {
  CudaGrid grid;
  int shift = 0;
};

// The rows and columns of products of few rows that a block computes.
struct FewTile {
  int log_rows = 4, log_columns = 5;
};

class CudaWalk;

// Where launches go: a stream, or, while there is one, a walk that will put
// them into it. `tf32` says whether large products and sums of float32 may
// round their operands to TF32.
struct CudaQueue {
  CudaQueue(CudaStreamHandle stream, CudaWalk* walk = nullptr,  // NOLINT
            bool tf32 = false)
      : stream(stream), walk(walk), tf32(tf32) {}

  CudaStreamHandle stream;
  CudaWalk* walk;
  bool tf32;
};

// Every function enqueues its work and returns; the context must be current.
//
// Thread safety: any thread may call any method at any time.
class CudaKernels {
 public:
  explicit CudaKernels(std::shared_ptr<const CudaContext> context);

  const CudaContext& context() const { return *context_; }
  std::shared_ptr<const CudaContext> shared_context() const { return context_; }
  PinnedBuffers& pinned() const { return pinned_; }

  CudaRowGrid GridOverRows(int64_t rows, int64_t columns) const;

  // Launches a kernel with the first `bytes` bytes of its arguments.
  Status Launch(const CudaFoundKernel& kernel, const CudaGrid& grid,
                const CudaQueue& queue, const void* arguments,
                size_t bytes) const;

  // Any number of moves, which do not depend on one another.
  Status Move(const std::vector<CudaMove>& moves, const CudaQueue& queue) const;
  // to[target[r]] += from[r] in the order of the rows; -1: nowhere. `to` is of
  // SumType(dtype). LinkSame() of the targets has made the links.
  Status AddRows(DType dtype, const ConstBlock& from, const int32_t* target,
                 const int32_t* links, const Block& to,
                 const CudaQueue& queue) const;
  // Row r of `to` becomes row index[r] of `sums`, which are of SumType(dtype);
  // zeros for -1.
  Status RoundRows(DType dtype, const ConstBlock& sums, const Block& to,
                   const CudaQueue& queue) const;
  // Any number of products, which do not depend on one another.
  Status Multiply(DType dtype, const std::vector<CudaProduct>& products,
                  const CudaQueue& queue) const;
  // Perhaps a sum, products and then a group, in one launch if that is possible
  // and fast: calls begin() and then does it. Does nothing if not.
  Status MultiplyThen(DType dtype, const std::vector<CudaProduct>& products,
                      const CudaEpilogue& group, const CudaQueue& queue,
                      const std::function<void()>& begin) const;
  // Any number of different sums. The workspace has BytesOfParts() of each.
  Status SumOverRows(DType dtype, const std::vector<CudaSum>& sums,
                     void* workspace, const CudaQueue& queue) const;
  // The most bytes of workspace for a sum of so many elements over so many
  // rows.
  size_t BytesOfParts(DType dtype, int64_t x_columns, int64_t y_columns,
                      int64_t rows) const;
  Status SumColumns(DType dtype, const ConstBlock& from, const Block& to,
                    const CudaQueue& queue) const;
  // Row r of `to` is the sum, or maximum, of the rows [splits[r], splits[r+1])
  // of `from`, counted from `first_edge`.
  Status ReduceEdges(DType dtype, bool maximum, const ConstBlock& from,
                     const int32_t* splits, int64_t first_edge, const Block& to,
                     const CudaQueue& queue) const;
  // Draws a mask for rows of these numbers, which are int32. The seed is two
  // int64 in memory of the GPU.
  Status DrawMask(DType dtype, const DrawnMask& mask, const ConstBlock& numbers,
                  const void* seed, const Block& to,
                  const CudaQueue& queue) const;
  // 1 where a byte of `from` is not 0, else 0.
  Status ToMask(DType dtype, const ConstBlock& from, const Block& to,
                const CudaQueue& queue) const;
  // Each number becomes the nearest one of type `to_type`.
  Status Cast(DType from_type, const ConstBlock& from, DType to_type,
              const Block& to, const CudaQueue& queue) const;
  Status Add(DType dtype, const void* terms, int64_t n, void* sums,
             const CudaQueue& queue) const;
  // Rounds n numbers of SumType(dtype) to `dtype`, elsewhere.
  Status Round(DType dtype, const void* sums, int64_t n, void* rounded,
               const CudaQueue& queue) const;

 private:
  const CudaFoundKernel& KernelOf(DType dtype, CudaKernel kernel,
                                  const CudaQueue& queue) const;
  // The tile of products of few rows, which make blocks(log_columns) blocks.
  template <typename Blocks>
  FewTile TileOfFew(DType dtype, const std::vector<CudaProduct>& products,
                    int64_t rows, int narrowest, const Blocks& blocks) const;
  // Whether tiles of 128 by 128 are possible, and faster.
  bool HasLargeTiles(DType dtype,
                     const std::vector<CudaProduct>& products) const;
  bool HasLargeTiles(DType dtype, const std::vector<CudaSum>& sums) const;
  // How many parts a sum is formed in, if a launch has so many tiles.
  int64_t NumParts(int64_t tiles, int64_t rows) const;

  Status LaunchOf(DType dtype, CudaKernel kernel, const CudaGrid& grid,
                  const CudaQueue& queue, const void* arguments,
                  size_t bytes) const;

  const std::shared_ptr<const CudaContext> context_;
  mutable PinnedBuffers pinned_;
  // The kernels, in the order of the texts that define them.
  const CudaFoundKernels moves_, tf32_;
  std::array<CudaFoundKernels, FloatTypes::kSize> kernels_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_KERNELS_H_
