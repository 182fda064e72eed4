// The dialect of the product's kernels as plain C++: stands in for the header
// of the same name that NVRTC gets. Threads are fibers of one OS thread, and
// memory is memory of the host.
//
// It includes nothing of the system's, so that kernels compile fast.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_CAVS_DEVICE_H_
#define CAVS_TESTS_CC_CUDA_FAKE_CAVS_DEVICE_H_

#include "launch.h"

using i64 = long long;
using u32 = unsigned;
using u16 = unsigned short;

static cavs_fake::Launch* cavs_launch;
extern "C" __attribute__((visibility("default"))) void cavs_bind(
    cavs_fake::Launch* launch) {
  cavs_launch = launch;
}
#ifdef CAVS_ARCHITECTURE
extern "C" __attribute__((visibility("default"))) const int cavs_architecture =
    CAVS_ARCHITECTURE;
#endif

#define FUNCTION static inline __attribute__((always_inline))
#define UNROLL

// The entry runs one thread. The driver reads the numbers.
#define KERNEL(name, Args, threads, ...)                                      \
  static void cavs_kernel_##name(const Args& a);                              \
  extern "C" {                                                                \
  __attribute__((visibility("default"))) void cavs_entry_##name(              \
      const void* a) {                                                        \
    cavs_kernel_##name(*static_cast<const Args*>(a));                         \
  }                                                                           \
  extern __attribute__((visibility("default")))                               \
  const int cavs_threads_##name = threads;                                    \
  extern __attribute__((visibility("default"))) const int cavs_bytes_##name = \
      sizeof(Args);                                                           \
  }                                                                           \
  static_assert(__is_trivially_copyable(Args), "arguments are copied");       \
  static void cavs_kernel_##name(const Args& a)

namespace cavs_fake {

template <typename T>
struct Plain {
  using Type = T;
};
template <typename T>
struct Plain<const T> {
  using Type = T;
};

inline void Fail(KernelError error, const char* what, const void* at) {
  cavs_launch->fail(cavs_launch, error, what, at);
}

inline void Touches(const void* at, unsigned bytes, Touch how) {
#ifdef CAVS_FAKE_RACES
  cavs_launch->touch(cavs_launch, at, bytes, how);
#endif
}

// An element of memory: what `p[i]` is.
template <typename T>
struct Element {
  T* at;
  operator typename Plain<T>::Type() const {
    Touches(at, sizeof(T), kReads);
    return *at;
  }
  const Element& operator=(typename Plain<T>::Type value) const {
    Touches(at, sizeof(T), kWrites);
    *at = value;
    return *this;
  }
  const Element& operator=(const Element& other) const {
    return *this = static_cast<T>(other);
  }
};

// Memory of the device that the kernel runs on, and memory of the host that
// kernels may use.
template <typename T>
inline T* Reach(unsigned long long address) {
  const unsigned long long behind = address ^ cavs_launch->wall;
  if (__builtin_expect(behind >> kDeviceShift == 0, 1)) {
    return reinterpret_cast<T*>(behind);
  }
  T* host = reinterpret_cast<T*>(address);
  const Thread* self = cavs_launch->current;
  const unsigned long long offset =
      reinterpret_cast<const char*>(address) - self->shared;
  if (offset + sizeof(T) <= self->shared_bytes) return host;
  if (!cavs_launch->may_touch(cavs_launch, host)) {
    Fail(kIllegalAddress, "no memory of the device", host);
  }
  return host;
}

template <typename T>
inline T* Aligned(T* at, unsigned bytes) {
  if (reinterpret_cast<unsigned long long>(at) % bytes != 0) {
    Fail(kMisaligned, "a misaligned address", at);
  }
  return at;
}

// Every lane of the warp gives `mine`; returns what all of them gave.
template <typename T>
inline const Exchange& ExchangeInWarp(const T& mine, const char* what) {
  static_assert(sizeof(T) <= kMostExchanged, "too large");
  Thread* self = cavs_launch->current;
  Exchange& exchange = self->exchanges[self->exchanged++ % 2];
  __builtin_memcpy(exchange.lanes[self->index % kLanes], &mine, sizeof(T));
  cavs_launch->wait(cavs_launch, kWarp, what);
  return exchange;
}

template <typename T>
inline T GivenBy(const Exchange& exchange, int lane) {
  T value;
  __builtin_memcpy(&value, exchange.lanes[lane], sizeof(T));
  return value;
}

}  // namespace cavs_fake

// Pointers. They are as large as pointers, so that structs of arguments have
// the layout of the device.
template <typename T>
struct Global {
  unsigned long long address;

  explicit operator bool() const { return address != 0; }
  operator Global<const T>() const { return {address}; }
  Global operator+(i64 i) const { return {address + i * (i64)sizeof(T)}; }
  Global operator-(i64 i) const { return {address - i * (i64)sizeof(T)}; }
#ifdef CAVS_FAKE_RACES
  cavs_fake::Element<T> operator[](i64 i) const {
    return {cavs_fake::Aligned((*this + i).Reach(), alignof(T))};
  }
#else
  T& operator[](i64 i) const { return *(*this + i).Reach(); }
#endif
  T* Reach() const { return cavs_fake::Reach<T>(address); }
};

template <typename T>
struct Shared {
  T* at;

  operator Shared<const T>() const { return {at}; }
  Shared operator+(i64 i) const { return {at + i}; }
  Shared operator-(i64 i) const { return {at - i}; }
#ifdef CAVS_FAKE_RACES
  cavs_fake::Element<T> operator[](i64 i) const {
    return {cavs_fake::Aligned((*this + i).Reach(), alignof(T))};
  }
#else
  T& operator[](i64 i) const { return *(*this + i).Reach(); }
#endif
  T* Reach() const {
    const cavs_fake::Thread* self = cavs_launch->current;
    const unsigned long long offset =
        reinterpret_cast<const char*>(at) - self->shared;
    if (__builtin_expect(offset + sizeof(T) > self->shared_bytes, 0)) {
      cavs_fake::Fail(cavs_fake::kIllegalAddress, "out of shared memory", at);
    }
    return at;
  }
};

// What `U` is for a const pointer stays const.
template <typename U, typename T>
inline Global<U> cast(Global<T> p) {
  return {p.address};
}
template <typename U, typename T>
inline Shared<U> cast(Shared<T> p) {
  return {reinterpret_cast<U*>(p.at)};
}

template <typename U, typename T>
inline Global<U> anywhere(Shared<T> p) {
  return {reinterpret_cast<unsigned long long>(p.at)};
}

#define SHARED_MEMORY(name) \
  const Shared<char> name { cavs_launch->current->shared }

template <typename T>
const T& object_at(Shared<const char> p) {
  return *reinterpret_cast<const T*>(p.at);
}

template <typename T>
struct Four {
  T x[4];
};

template <template <typename> class Pointer, typename T>
inline Four<typename cavs_fake::Plain<T>::Type> load4(Pointer<T> p, i64 i) {
  // 16 bytes are read at a time.
  const T* from =
      cavs_fake::Aligned((p + i).Reach(), sizeof(T) < 4 ? 4 * sizeof(T) : 16);
  (p + i + 3).Reach();
  cavs_fake::Touches(from, 4 * sizeof(T), cavs_fake::kReads);
  return {{from[0], from[1], from[2], from[3]}};
}

// Where the thread is.
FUNCTION int thread_index() { return cavs_launch->current->index; }
FUNCTION int thread_count() { return cavs_launch->threads; }
FUNCTION int block_x() { return cavs_launch->current->block_x; }
FUNCTION int block_y() { return cavs_launch->current->block_y; }
FUNCTION int block_z() { return cavs_launch->current->block_z; }
FUNCTION int grid_x() { return cavs_launch->grid_x; }
FUNCTION int grid_y() { return cavs_launch->grid_y; }
FUNCTION int lane() { return thread_index() % cavs_fake::kLanes; }
FUNCTION int warp() { return thread_index() / cavs_fake::kLanes; }

// What threads do together.
inline void barrier() {
  cavs_launch->wait(cavs_launch, cavs_fake::kBlock, "barrier");
}

template <typename T>
inline T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
  return cavs_fake::GivenBy<T>(cavs_fake::ExchangeInWarp(value, "shuffle_xor"),
                               (lane() ^ mask) % 32);
}
inline unsigned atomic_add(Global<unsigned> p, unsigned value) {
  unsigned* at = cavs_fake::Aligned(p.Reach(), sizeof(unsigned));
  cavs_fake::Touches(at, sizeof(unsigned), cavs_fake::kAdds);
  const unsigned before = *at;
  *at += value;
  return before;
}

// The scheduler knows the barrier of the grid; the counter only has to be one
// that was set.
inline unsigned grid_begin(Global<unsigned> counter) {
  if (*cavs_fake::Aligned(counter.Reach(), sizeof(unsigned)) == ~0u) {
    cavs_fake::Fail(cavs_fake::kLaunchFailed,
                    "the counter of a barrier of the grid was not set to zero",
                    counter.Reach());
  }
  return 0;
}
inline void grid_barrier(Global<unsigned> counter, unsigned*) {
  grid_begin(counter);
  cavs_launch->wait(cavs_launch, cavs_fake::kGrid, "grid_barrier");
}

// Numbers of 16 bits. NaN stays NaN, results are rounded to nearest even.
struct Bf16 {
  u16 bits;
};
struct F16 {
  u16 bits;
};

FUNCTION u32 __float_as_uint(float x) {
  u32 b;
  __builtin_memcpy(&b, &x, sizeof(b));
  return b;
}
FUNCTION float float_of(u32 b) {
  float x;
  __builtin_memcpy(&x, &b, sizeof(x));
  return x;
}

FUNCTION float to_float(float x) { return x; }
FUNCTION float to_float(Bf16 x) { return float_of(u32{x.bits} << 16); }
inline float to_float(F16 x) {
  const u32 sign = (x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00u) {  // Infinity or NaN.
    return float_of(sign | 0x7f800000u | rest << 13 |
                    (rest > 0x7c00u ? 0x400000u : 0));
  }
  if (rest >= 0x400u) return float_of(sign | ((rest << 13) + (112u << 23)));
  const float tiny = static_cast<float>(rest) * 0x1p-24f;
  return float_of(sign | __float_as_uint(tiny));
}

namespace cavs_fake {

inline Bf16 ToBf16(float x) {
  const u32 b = __float_as_uint(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) return {u16(b >> 16 | 0x40u)};
  return {u16((b + 0x7fffu + (b >> 16 & 1u)) >> 16)};
}

inline F16 ToF16(float x) {
  const u32 b = __float_as_uint(x), sign = b >> 16 & 0x8000u,
            rest = b & 0x7fffffffu;
  if (rest > 0x7f800000u) return {u16(sign | 0x7e00u | (rest >> 13 & 0x3ffu))};
  if (rest >= 0x477ff000u) return {u16(sign | 0x7c00u)};
  if (rest >= 0x38800000u) {
    const u32 rounded = rest + 0xfffu + (rest >> 13 & 1u);
    return {u16(sign | (rounded - 0x38000000u) >> 13)};
  }
  // The last place of the sum is the smallest subnormal number.
  const float sum = float_of(rest) + 0.5f;
  return {u16(sign | (__float_as_uint(sum) - __float_as_uint(0.5f)))};
}

template <typename T>
struct WideOf {
  using Type = T;
};
template <>
struct WideOf<Bf16> {
  using Type = float;
};
template <>
struct WideOf<F16> {
  using Type = float;
};

inline float Narrow(float x, float*) { return x; }
inline double Narrow(double x, double*) { return x; }
inline Bf16 Narrow(float x, Bf16*) { return ToBf16(x); }
inline F16 Narrow(float x, F16*) { return ToF16(x); }

inline double Widen(double x) { return x; }
inline float Widen(float x) { return x; }
inline float Widen(Bf16 x) { return to_float(x); }
inline float Widen(F16 x) { return to_float(x); }

}  // namespace cavs_fake

template <typename T>
using Wide = typename cavs_fake::WideOf<T>::Type;
template <typename T>
FUNCTION Wide<T> to_wide(T x) {
  return cavs_fake::Widen(x);
}
template <typename T>
FUNCTION T from_wide(Wide<T> x) {
  return cavs_fake::Narrow(x, static_cast<T*>(nullptr));
}

// Products of tiles by a warp. Lanes have the elements that PTX gives them;
// sums are exact to double, and rounded once.
namespace cavs_fake {

// What a lane gives: `n` numbers of each of its registers.
template <int n>
struct MmaOperands {
  float a[4][n], b[2][n];
};

// `unpack` makes the numbers of a register.
template <int n, typename Unpack>
inline void Mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2],
                const char* what, Unpack unpack) {
  MmaOperands<n> mine;
  for (int i = 0; i < 4; ++i) unpack(a[i], mine.a[i]);
  for (int i = 0; i < 2; ++i) unpack(b[i], mine.b[i]);
  const Exchange& all = ExchangeInWarp(mine, what);
  const int group = lane() / 4, in_group = lane() % 4;
  for (int e = 0; e < 4; ++e) {
    const int lower = e / 2, column = 2 * in_group + e % 2;
    double sum = d[e];
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < 4; ++k) {
        const float* row =
            reinterpret_cast<const MmaOperands<n>*>(all.lanes[group * 4 + k])
                ->a[lower + 2 * half];
        const float* col =
            reinterpret_cast<const MmaOperands<n>*>(all.lanes[column * 4 + k])
                ->b[half];
        double products = 0;
        for (int i = 0; i < n; ++i) {
          products += static_cast<double>(row[i]) * col[i];
        }
        sum += products;
      }
    }
    d[e] = static_cast<float>(sum);
  }
}

}  // namespace cavs_fake

inline void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  cavs_fake::Mma<2>(d, a, b, "mma_bf16", [](u32 x, float* numbers) {
    numbers[0] = to_float(Bf16{u16(x)});
    numbers[1] = to_float(Bf16{u16(x >> 16)});
  });
}
inline void mma_f16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  cavs_fake::Mma<2>(d, a, b, "mma_f16", [](u32 x, float* numbers) {
    numbers[0] = to_float(F16{u16(x)});
    numbers[1] = to_float(F16{u16(x >> 16)});
  });
}

// Tensor cores leave out the bits that a number of TF32 does not have.
inline void mma_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  cavs_fake::Mma<1>(d, a, b, "mma_tf32", [](u32 x, float* number) {
    *number = float_of(x & ~0x1fffu);
  });
}
inline float round_tf32(float x) {
  const u32 b = __float_as_uint(x);
  if ((b & 0x7fffffffu) >= 0x7f800000u) return x;  // Infinity or NaN.
  return float_of((b + 0x1000u) & ~0x1fffu);
}

// Functions of float and double.
namespace cavs_fake {
namespace math {
#define CAVS_MATH(name)                                         \
  inline float name(float x) { return __builtin_##name##f(x); } \
  inline double name(double x) { return __builtin_##name(x); }
CAVS_MATH(exp)
CAVS_MATH(expm1)
CAVS_MATH(log)
CAVS_MATH(log1p)
CAVS_MATH(sqrt)
CAVS_MATH(tanh)
CAVS_MATH(erf)
CAVS_MATH(fabs)
#undef CAVS_MATH
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
}  // namespace math
}  // namespace cavs_fake
using namespace cavs_fake::math;

#endif  // CAVS_TESTS_CC_CUDA_FAKE_CAVS_DEVICE_H_
