// Vectors of 64 bytes. For kernels_avx512.cc alone; see kernel_set.h.
#ifndef CAVS_CC_DEVICE_CPU_SIMD_AVX512_H_
#define CAVS_CC_DEVICE_CPU_SIMD_AVX512_H_

namespace cavs {
namespace CAVS_ISA {
namespace {

template <typename T>
struct Simd;

template <>
struct Simd<float> {
  using V = __m512;
  typedef int32_t I __attribute__((vector_size(64)));
  typedef uint32_t U __attribute__((vector_size(64)));
  static constexpr int kLanes = 16;
  static constexpr bool kHasScale = true;

  CAVS_INLINE static __mmask16 First(int64_t n) {
    return static_cast<__mmask16>((1u << n) - 1);
  }
  CAVS_INLINE static V Broadcast(float v) { return _mm512_set1_ps(v); }
  CAVS_INLINE static V Load(const float* p) { return _mm512_loadu_ps(p); }
  CAVS_INLINE static void Store(float* p, V v) { _mm512_storeu_ps(p, v); }
  CAVS_INLINE static V LoadFirst(const float* p, int64_t n) {
    return _mm512_maskz_loadu_ps(First(n), p);
  }
  CAVS_INLINE static void StoreFirst(float* p, V v, int64_t n) {
    _mm512_mask_storeu_ps(p, First(n), v);
  }
  CAVS_INLINE static V Fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  CAVS_INLINE static V Min(V a, V b) { return _mm512_min_ps(a, b); }
  CAVS_INLINE static V Max(V a, V b) { return _mm512_max_ps(a, b); }
  CAVS_INLINE static V Sqrt(V a) { return _mm512_sqrt_ps(a); }
  CAVS_INLINE static V Scale(V a, V n) { return _mm512_scalef_ps(a, n); }
  // A division takes as long as the rest of a sigmoid; one Newton step from 14
  // bits is as good to the last bit or two.
  CAVS_INLINE static V Reciprocal(V a) {
    const V r = _mm512_rcp14_ps(a);
    return r * _mm512_fnmadd_ps(a, r, _mm512_set1_ps(2));
  }
};

template <>
struct Simd<double> {
  using V = __m512d;
  typedef int64_t I __attribute__((vector_size(64)));
  typedef uint64_t U __attribute__((vector_size(64)));
  static constexpr int kLanes = 8;
  static constexpr bool kHasScale = true;

  CAVS_INLINE static __mmask8 First(int64_t n) {
    return static_cast<__mmask8>((1u << n) - 1);
  }
  CAVS_INLINE static V Broadcast(double v) { return _mm512_set1_pd(v); }
  CAVS_INLINE static V Load(const double* p) { return _mm512_loadu_pd(p); }
  CAVS_INLINE static void Store(double* p, V v) { _mm512_storeu_pd(p, v); }
  CAVS_INLINE static V LoadFirst(const double* p, int64_t n) {
    return _mm512_maskz_loadu_pd(First(n), p);
  }
  CAVS_INLINE static void StoreFirst(double* p, V v, int64_t n) {
    _mm512_mask_storeu_pd(p, First(n), v);
  }
  CAVS_INLINE static V Fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  CAVS_INLINE static V Min(V a, V b) { return _mm512_min_pd(a, b); }
  CAVS_INLINE static V Max(V a, V b) { return _mm512_max_pd(a, b); }
  CAVS_INLINE static V Sqrt(V a) { return _mm512_sqrt_pd(a); }
  CAVS_INLINE static V Scale(V a, V n) { return _mm512_scalef_pd(a, n); }
  CAVS_INLINE static V Reciprocal(V a) { return Broadcast(1) / a; }
};

// 16-bit numbers: as many as there are lanes of 32 bits.
struct Halves {
  using Vector = __m256i;
  using U = Simd<float>::U;
  CAVS_INLINE static Vector Load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  CAVS_INLINE static Vector LoadFirst(const void* p, int64_t n) {
    return _mm256_maskz_loadu_epi16(Simd<float>::First(n), p);
  }
  CAVS_INLINE static void Store(void* p, Vector v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), v);
  }
  CAVS_INLINE static void StoreFirst(void* p, Vector v, int64_t n) {
    _mm256_mask_storeu_epi16(p, Simd<float>::First(n), v);
  }
  // Each to the lower half of a lane, and back.
  CAVS_INLINE static U ToLanes(Vector v) {
    return reinterpret_cast<U>(_mm512_cvtepu16_epi32(v));
  }
  CAVS_INLINE static Vector FromLanes(U v) {
    return _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(v));
  }
  CAVS_INLINE static Vector Broadcast(uint16_t bits) {
    return _mm256_set1_epi16(static_cast<int16_t>(bits));
  }
  CAVS_INLINE static __m512 FromFloat16(Vector v) { return _mm512_cvtph_ps(v); }
  CAVS_INLINE static Vector ToFloat16(__m512 v) {
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

// A tile holds at most 24 accumulators in the 32 registers.
constexpr int kPanelVectors = 4;
constexpr int TileRows(int vectors) {
  return vectors == 4 ? 6 : vectors == 3 ? 8 : 12;
}

// For an L1 cache of 48 KiB; see MultiplyTransposed().
constexpr int64_t kNearBytes = 32 << 10;
constexpr int64_t kCopiedRowBytes = 1 << 10;

// See Ahead.
constexpr int kTermsPerRow = 4;

}  // namespace
}  // namespace CAVS_ISA
}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_SIMD_AVX512_H_
