// All kernels of one instruction set. Included by each kernels_*.cc, which has
// defined CAVS_ISA (a namespace) and Simd (its vectors), and has switched the
// compiler to its instruction set. It may also define CAVS_TABLES (the name of
// its KernelTables) and CAVS_DOT_PAIRS (see narrow_kernels.h).
//
// Definitions in the headers below must not be visible outside of the file, and
// must not call functions of the standard library: the linker keeps one copy of
// an inline function, which could be one that only newer processors can run.
#ifndef CAVS_CC_DEVICE_CPU_KERNEL_SET_H_
#define CAVS_CC_DEVICE_CPU_KERNEL_SET_H_

#include "cc/device/cpu/cross_entropy_kernels.h"
#include "cc/device/cpu/elementwise_kernels.h"
#include "cc/device/cpu/gemm_kernels.h"
#include "cc/device/cpu/mask_kernels.h"
#include "cc/device/cpu/math_kernels.h"
#include "cc/device/cpu/narrow_gemm_kernels.h"
#include "cc/device/cpu/narrow_kernels.h"
#include "cc/device/cpu/pack_kernels.h"
#include "cc/device/cpu/reduce_kernels.h"
#include "cc/device/cpu/update_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
struct Products {
  static constexpr int kPackedTerms = 1;
  static constexpr auto kPack = Pack<T>;
  static constexpr auto kPacked = MultiplyRows<T, MultiplyPacked<T>>;
  static constexpr auto kPlain = MultiplyRows<T, Multiply<T>>;
  static constexpr auto kTransposed = MultiplyTransposed<T>;
};

template <int kExponent>
struct Products<NarrowFloat<kExponent>> {
  using T = NarrowFloat<kExponent>;
  static constexpr int kPackedTerms = kNumbers<PackedTerm<T>>;
  static constexpr auto kPack = PackTerms<T>;
  static constexpr auto kPacked = MultiplyNarrow<T, true>;
  static constexpr auto kPlain = MultiplyNarrow<T, false>;
  static constexpr auto kTransposed = MultiplyTransposedTerms<
      T, std::conditional_t<kDotsPairsAtOnce, PackedTerm<T>, float>>;
};

template <typename T>
struct Conversions {
  static constexpr decltype(nullptr) kWiden = nullptr, kNarrow = nullptr;
};

template <int kExponent>
struct Conversions<NarrowFloat<kExponent>> {
  static constexpr auto kWiden = Widen<NarrowFloat<kExponent>>;
  static constexpr auto kNarrow = Narrow<NarrowFloat<kExponent>>;
};

template <typename T>
struct Losses {
  static constexpr auto kCrossEntropy = CrossEntropy<T>;
};

template <int kExponent>
struct Losses<NarrowFloat<kExponent>> {
  static constexpr decltype(nullptr) kCrossEntropy = nullptr;
};

template <typename T, Elementwise kOp, int... kThen>
constexpr PairsOfFirst<T> PairsOf(std::integer_sequence<int, kThen...>) {
  return {{PairOrNull<kOp, static_cast<Elementwise>(kThen), T>()...}};
}

template <typename T,
          typename = std::make_integer_sequence<int, kNumElementwise>>
struct Table;

template <typename T, int... kOp>
struct Table<T, std::integer_sequence<int, kOp...>> {
  static constexpr KernelTable<T> kKernels = {
      Simd<T>::kLanes,
      kPanel<Wide<T>>,
      TileRows(kPanelVectors),
      Products<T>::kPackedTerms,
      Products<T>::kPack,
      Products<T>::kPacked,
      Products<T>::kPlain,
      Products<T>::kTransposed,
      {{TileOrNull<static_cast<Elementwise>(kOp), T, kVectorVector>(),
        TileOrNull<static_cast<Elementwise>(kOp), T, kVectorScalar>(),
        TileOrNull<static_cast<Elementwise>(kOp), T, kScalarVector>()}...},
      {PairsOf<T, static_cast<Elementwise>(kOp)>(
          std::make_integer_sequence<int, kNumElementwise>())...},
      PackIndexed<T>,
      SumRows<T>,
      Sum<T>,
      AreFinite<T>,
      DrawMask<T>,
      Update<T>,
      Losses<T>::kCrossEntropy,
      Conversions<T>::kWiden,
      Conversions<T>::kNarrow,
  };
};

template <typename... T>
struct Tables {
  static constexpr KernelTables kKernels = {{&Table<T>::kKernels}...};
};

}  // namespace
}  // namespace CAVS_ISA

#if defined(CAVS_TABLES)
constexpr KernelTables CAVS_TABLES =
    FloatTypes::Apply<CAVS_ISA::Tables>::kKernels;
#endif

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_KERNEL_SET_H_
