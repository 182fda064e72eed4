// Vectors of narrow numbers, which are converted to fp32 for arithmetic, and of
// pairs of them. Included by kernels_*.cc only; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_NARROW_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_NARROW_KERNELS_H_

#include "cc/device/cpu/math_kernels.h"

namespace cavs {
namespace CAVS_ISA {
namespace {

// Vectors of T to and from fp32, as ToWide() and FromWide().
template <typename T>
struct Conversion;

template <>
struct Conversion<BFloat16> {
  CAVS_INLINE static V<float> Broadcast(BFloat16 v) {
    return FromBits<float>(U<float>{} + (uint32_t{v.bits} << 16));
  }
  CAVS_INLINE static V<float> ToWide(Halves::Vector v) {
    return FromBits<float>(Halves::ToLanes(v) << 16);
  }
  CAVS_INLINE static Halves::Vector FromWide(V<float> v) {
    const U<float> bits = Bits<float>(v);
    const U<float> rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return Halves::FromLanes(v == v ? rounded : (bits >> 16) | 0x40);
  }
};

template <>
struct Conversion<Float16> {
  CAVS_INLINE static V<float> Broadcast(Float16 v) {
    return ToWide(Halves::Broadcast(v.bits));
  }
  CAVS_INLINE static V<float> ToWide(Halves::Vector v) {
    return Halves::FromFloat16(v);
  }
  CAVS_INLINE static Halves::Vector FromWide(V<float> v) {
    return Halves::ToFloat16(v);
  }
};

// fp32 in registers; widened when loaded and rounded when stored.
template <int kExponent>
struct Simd<NarrowFloat<kExponent>> {
  using T = NarrowFloat<kExponent>;
  using C = Conversion<T>;
  using V = Simd<float>::V;
  static constexpr int kLanes = Simd<float>::kLanes;

  CAVS_INLINE static V Broadcast(T v) { return C::Broadcast(v); }
  CAVS_INLINE static V Load(const T* p) { return C::ToWide(Halves::Load(p)); }
  CAVS_INLINE static V LoadFirst(const T* p, int64_t n) {
    return C::ToWide(Halves::LoadFirst(p, n));
  }
  CAVS_INLINE static void Store(T* p, V v) { Halves::Store(p, C::FromWide(v)); }
  CAVS_INLINE static void StoreFirst(T* p, V v, int64_t n) {
    Halves::StoreFirst(p, C::FromWide(v), n);
  }
};

// The numbers of each pair.
CAVS_INLINE V<float> First(V<float> pairs) {
  return FromBits<float>(Bits<float>(pairs) << 16);
}
CAVS_INLINE V<float> Second(V<float> pairs) {
  return FromBits<float>(Bits<float>(pairs) & 0xffff0000);
}
CAVS_INLINE V<float> Pairs(V<float> first, V<float> second) {
  return FromBits<float>(Bits<float>(first) >> 16 |
                         (Bits<float>(second) & 0xffff0000));
}

// sum + x[0] * y[0] + x[1] * y[1] of each pair.
CAVS_INLINE V<float> DotPairsInSteps(V<float> x, V<float> y, V<float> sum) {
  sum = Simd<float>::Fma(Second(x), Second(y), sum);
  return Simd<float>::Fma(First(x), First(y), sum);
}

// The same, in one instruction where there is one.
#if defined(CAVS_DOT_PAIRS)
constexpr bool kDotsPairsAtOnce = true;
#else
#define CAVS_DOT_PAIRS DotPairsInSteps
constexpr bool kDotsPairsAtOnce = false;
#endif

// The bits of pairs in registers for fp32.
template <>
struct Simd<Pair> : Simd<float> {
  CAVS_INLINE static V Broadcast(Pair pair) {
    float bits;
    __builtin_memcpy(&bits, &pair, sizeof(bits));
    return Simd<float>::Broadcast(bits);
  }
  CAVS_INLINE static V Load(const Pair* p) {
    return Simd<float>::Load(reinterpret_cast<const float*>(p));
  }
  CAVS_INLINE static void Store(Pair* p, V v) {
    Simd<float>::Store(reinterpret_cast<float*>(p), v);
  }
  CAVS_INLINE static V LoadFirst(const Pair* p, int64_t n) {
    return Simd<float>::LoadFirst(reinterpret_cast<const float*>(p), n);
  }
  CAVS_INLINE static V Fma(V x, V y, V sum) {
    return CAVS_DOT_PAIRS(x, y, sum);
  }
};

// Convert n numbers to and from fp32. The output of Narrow() may begin where x
// does.
template <typename T>
inline void Widen(const T* x, int64_t n, float* out) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    Simd<float>::Store(out + i, S::Load(x + i));
  }
  if (i < n)
    Simd<float>::StoreFirst(out + i, S::LoadFirst(x + i, n - i), n - i);
}

template <typename T>
inline void Narrow(const float* x, int64_t n, T* out) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::kLanes <= n; i += S::kLanes) {
    S::Store(out + i, Simd<float>::Load(x + i));
  }
  if (i < n)
    S::StoreFirst(out + i, Simd<float>::LoadFirst(x + i, n - i), n - i);
}

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_NARROW_KERNELS_H_
