// What the kernels ask of the compiler beyond C++.
#ifndef CAVS_CC_BACKEND_CPU_COMPILER_H_
#define CAVS_CC_BACKEND_CPU_COMPILER_H_

#define CAVS_INLINE __attribute__((always_inline)) inline

// The next loop has a small constant count, and is to be written out.
#if defined(__clang__)
#define CAVS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CAVS_UNROLL _Pragma("GCC unroll 16")
#endif

#endif  // CAVS_CC_BACKEND_CPU_COMPILER_H_
