#include "cc/device/cuda/source/device_header.h"

namespace cavs {

const char kDeviceHeader[] = R"(
typedef long long i64;
typedef unsigned u32;
typedef unsigned short u16;

#define FUNCTION static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
// With how many threads in a block, and perhaps for how many blocks of a
// processor there have to be registers.
#define KERNEL(name, Args, ...)                                  \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name( \
      const __grid_constant__ Args a)

// What a thread is.
FUNCTION int thread_index() { return threadIdx.x; }
FUNCTION int thread_count() { return blockDim.x; }
FUNCTION int block_x() { return blockIdx.x; }
FUNCTION int block_y() { return blockIdx.y; }
FUNCTION int block_z() { return blockIdx.z; }
FUNCTION int grid_x() { return gridDim.x; }
FUNCTION int grid_y() { return gridDim.y; }
FUNCTION int lane() { return threadIdx.x & 31; }
FUNCTION int warp() { return threadIdx.x >> 5; }

// What memory is.
template <typename T> using Global = T*;
template <typename T> using Shared = T*;
template <typename U, typename T> FUNCTION U* cast(T* p) {
  return reinterpret_cast<U*>(p);
}
// Shared memory, where a pointer may lead to either kind.
template <typename U, typename T> FUNCTION U* anywhere(T* p) { return p; }
extern __shared__ __align__(16) char shared_bytes[];
#define SHARED_MEMORY(name) Shared<char> name = shared_bytes

template <typename T> struct Four { T x[4]; };
template <int size> struct Packed;
template <> struct Packed<4> { typedef u32 type; };
template <> struct Packed<8> { typedef uint2 type; };
template <> struct Packed<16> { typedef uint4 type; };
template <> struct Packed<32> { struct __align__(16) type { uint4 a, b; }; };
template <typename T> union FourBits {
  typename Packed<4 * sizeof(T)>::type bits;
  Four<T> four;
  __device__ FourBits() {}
};
template <typename T> struct Plain { typedef T type; };
template <typename T> struct Plain<const T> { typedef T type; };
template <typename T>
FUNCTION Four<typename Plain<T>::type> load4(T* p, i64 i) {
  typedef typename Plain<T>::type U;
  FourBits<U> own;
  own.bits = *reinterpret_cast<const typename Packed<4 * sizeof(U)>::type*>(
      p + i);
  return own.four;
}

// What lies in shared memory as an object.
template <typename T> FUNCTION const T& object_at(Shared<const char> p) {
  return *reinterpret_cast<const T*>(p);
}

// What threads do together.
FUNCTION void barrier() { __syncthreads(); }
template <typename T> FUNCTION T shuffle_xor(T v, int mask) {
  return __shfl_xor_sync(0xffffffffu, v, mask);
}
FUNCTION u32 atomic_add(Global<u32> p, u32 v) { return atomicAdd(p, v); }
FUNCTION u32 load_acquire(const u32* p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(v) : "l"(p) : "memory");
  return v;
}
// The blocks of a cooperative launch wait for one another. The counter is zero
// before the first launch; each launch adds to it, and wraps around with it.
FUNCTION u32 grid_begin(Global<u32> counter) { return 0; }
FUNCTION void grid_barrier(Global<u32> counter, u32* round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const u32 all = gridDim.x * gridDim.y * gridDim.z;
    __threadfence();
    const u32 mine = atomicAdd(counter, 1u);
    const u32 wanted = mine - mine % all + all;
    while (static_cast<int>(load_acquire(counter) - wanted) < 0) {
      __nanosleep(20);
    }
    __threadfence();
  }
  __syncthreads();
  ++*round;
}

// Numbers.
struct Bf16 { u16 bits; };
struct F16 { u16 bits; };
FUNCTION float to_wide(float x) { return x; }
FUNCTION double to_wide(double x) { return x; }
FUNCTION float to_wide(Bf16 x) {
  return __uint_as_float(static_cast<u32>(x.bits) << 16);
}
FUNCTION float to_wide(F16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
template <typename T> struct WideOf { typedef float type; };
template <> struct WideOf<double> { typedef double type; };
template <typename T> using Wide = typename WideOf<T>::type;
FUNCTION void narrow(float x, float* to) { *to = x; }
FUNCTION void narrow(double x, double* to) { *to = x; }
FUNCTION void narrow(float x, Bf16* to) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(x));
}
FUNCTION void narrow(float x, F16* to) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(x));
}
template <typename T> FUNCTION T from_wide(Wide<T> x) {
  T y;
  narrow(x, &y);
  return y;
}
// TF32: ten bits of fraction. The nearest such number; away from zero where two
// are as near.
FUNCTION float round_tf32(float x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}
// Products of small matrices, by the threads of a warp.
#define MMA(name, depth, types)                                              \
  FUNCTION void name(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {   \
    asm volatile("mma.sync.aligned.m16n8" depth ".row.col.f32." types ".f32 " \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"     \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),    \
                   "r"(b[1]));                                               \
  }
MMA(mma_bf16, "k16", "bf16.bf16")
MMA(mma_f16, "k16", "f16.f16")
MMA(mma_tf32, "k8", "tf32.tf32")
#undef MMA
)";

}  // namespace cavs
