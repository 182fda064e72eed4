// Vectors of 32 bytes. For kernels_avx2.cc alone; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_SIMD_AVX2_H_
#define CAVS_CC_DEVICE_CPU_SIMD_AVX2_H_

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
struct Simd;

template <>
struct Simd<float> {
  using V = __m256;
  typedef int32_t I __attribute__((vector_size(32)));
  typedef uint32_t U __attribute__((vector_size(32)));
  static constexpr int kLanes = 8;
  static constexpr bool kHasScale = false;

  CAVS_INLINE static __m256i First(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  CAVS_INLINE static V Broadcast(float v) { return _mm256_set1_ps(v); }
  CAVS_INLINE static V Load(const float* p) { return _mm256_loadu_ps(p); }
  CAVS_INLINE static void Store(float* p, V v) { _mm256_storeu_ps(p, v); }
  CAVS_INLINE static V LoadFirst(const float* p, int64_t n) {
    return _mm256_maskload_ps(p, First(n));
  }
  CAVS_INLINE static void StoreFirst(float* p, V v, int64_t n) {
    _mm256_maskstore_ps(p, First(n), v);
  }
  CAVS_INLINE static V Fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  CAVS_INLINE static V Min(V a, V b) { return _mm256_min_ps(a, b); }
  CAVS_INLINE static V Max(V a, V b) { return _mm256_max_ps(a, b); }
  CAVS_INLINE static V Sqrt(V a) { return _mm256_sqrt_ps(a); }
  CAVS_INLINE static V Reciprocal(V a) { return Broadcast(1) / a; }
};

template <>
struct Simd<double> {
  using V = __m256d;
  typedef int64_t I __attribute__((vector_size(32)));
  typedef uint64_t U __attribute__((vector_size(32)));
  static constexpr int kLanes = 4;
  static constexpr bool kHasScale = false;

  CAVS_INLINE static __m256i First(int64_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n),
                              _mm256_setr_epi64x(0, 1, 2, 3));
  }
  CAVS_INLINE static V Broadcast(double v) { return _mm256_set1_pd(v); }
  CAVS_INLINE static V Load(const double* p) { return _mm256_loadu_pd(p); }
  CAVS_INLINE static void Store(double* p, V v) { _mm256_storeu_pd(p, v); }
  CAVS_INLINE static V LoadFirst(const double* p, int64_t n) {
    return _mm256_maskload_pd(p, First(n));
  }
  CAVS_INLINE static void StoreFirst(double* p, V v, int64_t n) {
    _mm256_maskstore_pd(p, First(n), v);
  }
  CAVS_INLINE static V Fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  CAVS_INLINE static V Min(V a, V b) { return _mm256_min_pd(a, b); }
  CAVS_INLINE static V Max(V a, V b) { return _mm256_max_pd(a, b); }
  CAVS_INLINE static V Sqrt(V a) { return _mm256_sqrt_pd(a); }
  CAVS_INLINE static V Reciprocal(V a) { return Broadcast(1) / a; }
};

// 16-bit numbers: as many as there are lanes of 32 bits.
struct Halves {
  using Vector = __m128i;
  using U = Simd<float>::U;
  template <typename T>
  CAVS_INLINE static Vector Load(const T* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  template <typename T>
  CAVS_INLINE static Vector LoadFirst(const T* p, int64_t n) {
    T all[8] = {};
    for (int64_t i = 0; i < n; ++i) all[i] = p[i];
    return Load(all);
  }
  template <typename T>
  CAVS_INLINE static void Store(T* p, Vector v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  template <typename T>
  CAVS_INLINE static void StoreFirst(T* p, Vector v, int64_t n) {
    T all[8];
    Store(all, v);
    for (int64_t i = 0; i < n; ++i) p[i] = all[i];
  }
  // Each to the lower half of a lane, and back.
  CAVS_INLINE static U ToLanes(Vector v) {
    return reinterpret_cast<U>(_mm256_cvtepu16_epi32(v));
  }
  CAVS_INLINE static Vector FromLanes(U v) {
    const __m256i lanes = reinterpret_cast<__m256i>(v);
    return _mm_packus_epi32(_mm256_castsi256_si128(lanes),
                            _mm256_extracti128_si256(lanes, 1));
  }
  CAVS_INLINE static Vector Broadcast(uint16_t bits) {
    return _mm_set1_epi16(static_cast<int16_t>(bits));
  }
  CAVS_INLINE static __m256 FromFloat16(Vector v) { return _mm256_cvtph_ps(v); }
  CAVS_INLINE static Vector ToFloat16(__m256 v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
  }
};

// A tile holds at most 12 accumulators in the 16 registers.
constexpr int kPanelVectors = 3;
constexpr int TileRows(int vectors) {
  return vectors == 3 ? 4 : vectors == 2 ? 6 : 12;
}

// For an L1 cache of 32 KiB and an L2 cache of 512; see MultiplyTransposed().
constexpr int64_t kNearBytes = 16 << 10;
constexpr int64_t kCopiedRowBytes = 2 << 10;

// See Ahead.
constexpr int kTermsPerRow = 8;

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_SIMD_AVX2_H_
