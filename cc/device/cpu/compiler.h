// What the kernels ask of the compiler beyond C++.
#ifndef CAVS_CC_DEVICE_CPU_COMPILER_H_
#define CAVS_CC_DEVICE_CPU_COMPILER_H_

#define CAVS_INLINE __attribute__((always_inline)) inline

// The next loop has a small constant count, and is to be written out.
#if defined(__clang__)
#define CAVS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CAVS_UNROLL _Pragma("GCC unroll 16")
#endif

// Keeps a vector that was loaded in its register. Compilers would have each
// instruction that uses it load it again, which costs twice where it comes from
// beyond the nearest cache.
#if defined(__x86_64__)
#define CAVS_KEEP(vector) asm("" : "+v"(vector))
#else
#define CAVS_KEEP(vector)
#endif

#endif  // CAVS_CC_DEVICE_CPU_COMPILER_H_
