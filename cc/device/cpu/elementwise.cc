// Elementwise operators over blocks: broadcasts, and which worker computes
// which elements.
#include <cassert>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

// An operand, as it is read for an output of a given size.
template <typename T>
struct Operand {
  const T* data;
  int64_t row_stride;  // 0: every row of the output reads the same row.
  bool scalar;         // Every column reads the same element.
  bool flat;           // Its rows are adjacent if the output's are.

  Operand(ConstBlock x, Block out)
      : data(static_cast<const T*>(x.data)),
        row_stride(x.rows == 1 ? 0 : x.pitch),
        scalar(x.cols == 1 && out.cols > 1),
        flat(x.cols == out.cols
                 ? x.rows == out.rows && (x.rows == 1 || x.pitch == x.cols)
                 : x.rows == 1) {
    assert(x.rows == out.rows || x.rows == 1);
    assert(x.cols == out.cols || x.cols == 1);
  }
};

double NanosPerElement(Elementwise op) {
  return (RowOf(op).flags & kIsSeries) != 0 ? 0.8 : 0.25;
}

GroupOperand OperandOfGroup(ConstBlock x, const Block& out) {
  GroupOperand operand = {};
  operand.data = const_cast<void*>(x.data);
  operand.pitch = x.rows == 1 ? 0 : x.pitch;
  operand.column = x.cols == 1 && out.cols > 1;
  return operand;
}

// A group of one operator, which is how narrow numbers are computed.
void RunAsGroup(const CpuBackend& backend, Elementwise op, DType dtype,
                ConstBlock x, ConstBlock y, const Block& out) {
  if (IsBinary(op) && x.cols == 1 && y.cols == 1 && out.cols > 1) {
    Block first = out;
    first.cols = 1;
    RunAsGroup(backend, op, dtype, x, y, first);
    return RunAsGroup(backend, Elementwise::kIdentity, dtype, first, first,
                      out);
  }
  ElementwiseGroup group;
  group.num_operands = 3;
  const int16_t second = IsBinary(op) ? 1 : 0;
  group.instructions = {{op, 0, second, 2}};
  const GroupOperand operands[] = {
      OperandOfGroup(x, out), OperandOfGroup(y, out), OperandOfGroup(out, out)};
  backend.Group(dtype, group, operands, out.rows, out.cols);
}

}  // namespace

template <typename T>
void CpuBackend::RunElementwise(Elementwise op, ConstBlock x_block,
                                ConstBlock y_block, Block out_block) const {
  if (out_block.rows == 0 || out_block.cols == 0) return;
  const Operand<T> x(x_block, out_block), y(y_block, out_block);
  const int64_t rows = out_block.rows, cols = out_block.cols;
  const int64_t pitch = out_block.pitch;
  T* const out = static_cast<T*>(out_block.data);
  const auto& forms = kernels<T>().elementwise[static_cast<int>(op)];
  const double nanos = NanosPerElement(op) * (sizeof(Wide<T>) / sizeof(float));

  if (x.scalar && y.scalar) {
    const TileKernel<T> kernel = forms[kVectorVector];
    const TileKernel<T> copy =
        kernels<T>().elementwise[static_cast<int>(Elementwise::kIdentity)]
                                [kScalarVector];
    return ParallelFor(workers_, rows, 1, nanos * cols, [&](Range range) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        T value;
        kernel({x.data + i * x.row_stride, 0}, {y.data + i * y.row_stride, 0},
               {&value, 0}, 1, 1);
        copy({&value, 0}, {&value, 0}, {out + i * pitch, 0}, 1, cols);
      }
    });
  }

  const TileKernel<T> kernel = forms[x.scalar   ? kScalarVector
                                     : y.scalar ? kVectorScalar
                                                : kVectorVector];
  if (x.flat && y.flat && (rows == 1 || pitch == cols)) {
    // Jobs begin at cache lines if the blocks do.
    const int64_t line = 64 / sizeof(T);
    return ParallelFor(workers_, rows * cols, line, nanos, [&](Range range) {
      kernel({x.scalar ? x.data : x.data + range.begin, 0},
             {y.scalar ? y.data : y.data + range.begin, 0},
             {out + range.begin, 0}, 1, range.end - range.begin);
    });
  }
  ParallelFor(workers_, rows, 1, nanos * cols, [&](Range range) {
    kernel({x.data + range.begin * x.row_stride, x.row_stride},
           {y.data + range.begin * y.row_stride, y.row_stride},
           {out + range.begin * pitch, pitch}, range.end - range.begin, cols);
  });
}

void CpuBackend::Unary(Elementwise op, DType dtype, ConstBlock x,
                       Block out) const {
  assert(!IsBinary(op));
  assert(x.rows == out.rows && x.cols == out.cols);
  Apply(op, dtype, x, x, out);
}

void CpuBackend::Binary(Elementwise op, DType dtype, ConstBlock x, ConstBlock y,
                        Block out) const {
  assert(IsBinary(op));
  Apply(op, dtype, x, y, out);
}

void CpuBackend::Apply(Elementwise op, DType dtype, ConstBlock x, ConstBlock y,
                       Block out) const {
  if (IsNarrow(dtype)) return RunAsGroup(*this, op, dtype, x, y, out);
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!kIsNarrow<T>) RunElementwise<T>(op, x, y, out);
  });
}

}  // namespace cavs
