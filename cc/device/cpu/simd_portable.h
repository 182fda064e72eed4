// Vectors of 16 bytes, in the compiler's own terms: for any processor. Included
// by kernels_portable.cc alone; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_SIMD_PORTABLE_H_
#define CAVS_CC_DEVICE_CPU_SIMD_PORTABLE_H_

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
struct SimdVectors;

template <>
struct SimdVectors<float> {
  typedef float V __attribute__((vector_size(16)));
  typedef int32_t I __attribute__((vector_size(16)));
  typedef uint32_t U __attribute__((vector_size(16)));
  CAVS_INLINE static float SqrtOne(float v) { return __builtin_sqrtf(v); }
};

template <>
struct SimdVectors<double> {
  typedef double V __attribute__((vector_size(16)));
  typedef int64_t I __attribute__((vector_size(16)));
  typedef uint64_t U __attribute__((vector_size(16)));
  CAVS_INLINE static double SqrtOne(double v) { return __builtin_sqrt(v); }
};

template <typename T>
struct Simd : SimdVectors<T> {
  using V = typename SimdVectors<T>::V;
  static constexpr int kLanes = 16 / sizeof(T);
  static constexpr bool kHasScale = false;

  // v - 0 keeps the sign of a zero, which v + 0 would not.
  CAVS_INLINE static V Broadcast(T v) { return v - V{}; }
  CAVS_INLINE static V Load(const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof(v));
    return v;
  }
  CAVS_INLINE static void Store(T* p, V v) {
    __builtin_memcpy(p, &v, sizeof(v));
  }
  CAVS_INLINE static V LoadFirst(const T* p, int64_t n) {
    V v = {};
    for (int64_t i = 0; i < n; ++i) v[i] = p[i];
    return v;
  }
  CAVS_INLINE static void StoreFirst(T* p, V v, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
  }
  CAVS_INLINE static V Fma(V a, V b, V c) { return a * b + c; }
  CAVS_INLINE static V Min(V a, V b) { return a < b ? a : b; }
  CAVS_INLINE static V Max(V a, V b) { return a > b ? a : b; }
  CAVS_INLINE static V Sqrt(V a) {
    for (int i = 0; i < kLanes; ++i) a[i] = SimdVectors<T>::SqrtOne(a[i]);
    return a;
  }
  CAVS_INLINE static V Reciprocal(V a) { return Broadcast(1) / a; }
};

// 16-bit numbers: as many as there are lanes of 32 bits. They stand in the
// lower halves of lanes all along.
struct Halves {
  using U = Simd<float>::U;
  using Vector = U;
  template <typename T>
  CAVS_INLINE static Vector Load(const T* p) {
    return Vector{p[0].bits, p[1].bits, p[2].bits, p[3].bits};
  }
  template <typename T>
  CAVS_INLINE static Vector LoadFirst(const T* p, int64_t n) {
    Vector v = {};
    for (int64_t i = 0; i < n; ++i) v[i] = p[i].bits;
    return v;
  }
  template <typename T>
  CAVS_INLINE static void Store(T* p, Vector v) {
    StoreFirst(p, v, 4);
  }
  template <typename T>
  CAVS_INLINE static void StoreFirst(T* p, Vector v, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i].bits = static_cast<uint16_t>(v[i]);
  }
  CAVS_INLINE static U ToLanes(Vector v) { return v; }
  CAVS_INLINE static Vector FromLanes(U v) { return v; }
  CAVS_INLINE static Vector Broadcast(uint16_t bits) { return U{} + bits; }
  // Called, not inlined: every kernel would hold 25 instructions for each of
  // them.
  [[gnu::noinline]] static Simd<float>::V FromFloat16(Vector v) {
    return Float16::Widen<Simd<float>::V>(v);
  }
  [[gnu::noinline]] static Vector ToFloat16(Simd<float>::V v) {
    return Float16::Round<U>(v);
  }
};

// A tile holds at most 12 accumulators, for processors with 16 registers.
constexpr int kPanelVectors = 2;
constexpr int TileRows(int vectors) { return vectors == 2 ? 6 : 12; }

// For an L1 cache of 32 KiB; see MultiplyTransposed().
constexpr int64_t kNearBytes = 16 << 10;
constexpr int64_t kCopiedRowBytes = 2 << 10;

// See Ahead.
constexpr int kTermsPerRow = 4;

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_SIMD_PORTABLE_H_
