// Every kernel of one instruction set. Included by each kernels_*.cc,
// which has defined CAVS_ISA (a namespace), CAVS_TABLES (the name of its
// KernelTables) and Simd (its vectors), and has switched the compiler to its
// instruction set.
//
// Nothing in the headers below may be visible outside of its file, and none may
// call a function of the standard library: the linker keeps one copy of an
// inline function, and it could be the one that only a newer processor can run.
#ifndef CAVS_CC_BACKEND_CPU_KERNEL_SET_H_
#define CAVS_CC_BACKEND_CPU_KERNEL_SET_H_

#include "cc/backend/cpu/elementwise_kernels.h"
#include "cc/backend/cpu/gemm_kernels.h"
#include "cc/backend/cpu/math_kernels.h"
#include "cc/backend/cpu/pack_kernels.h"
#include "cc/backend/cpu/reduce_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T,
          typename = std::make_integer_sequence<int, kNumElementwise>>
struct Table;

template <typename T, int... kOp>
struct Table<T, std::integer_sequence<int, kOp...>> {
  static constexpr KernelTable<T> kKernels = {
      Simd<T>::kLanes,
      kPanel<T>,
      TileRows(kPanelVectors),
      Pack<T>,
      MultiplyRows<T, MultiplyPacked<T>>,
      MultiplyRows<T, Multiply<T>>,
      MultiplyTransposed<T>,
      {{ElementwiseTile<static_cast<Elementwise>(kOp), T, kVectorVector>,
        ElementwiseTile<static_cast<Elementwise>(kOp), T, kVectorScalar>,
        ElementwiseTile<static_cast<Elementwise>(kOp), T, kScalarVector>}...},
      {PairOrNull<Elementwise::kAdd, static_cast<Elementwise>(kOp), T>()...},
      {PairOrNull<Elementwise::kMul, static_cast<Elementwise>(kOp), T>()...},
      PackIndexed<T>,
      SumRows<T>,
      Sum<T>,
  };
};

}  // namespace
}  // namespace CAVS_ISA

constexpr KernelTables CAVS_TABLES = {CAVS_ISA::Table<float>::kKernels,
                                      CAVS_ISA::Table<double>::kKernels};

}  // namespace cavs

#endif  // CAVS_CC_BACKEND_CPU_KERNEL_SET_H_
