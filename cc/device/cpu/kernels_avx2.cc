// The kernels for processors with AVX2, FMA and F16C.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "cc/device/cpu/compiler.h"
#include "cc/device/cpu/kernel_table.h"

// Everything below this line may use AVX2; see kernel_set.h.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

#define CAVS_ISA avx2
#define CAVS_TABLES kAvx2Kernels
#include "cc/device/cpu/simd_avx2.h"
// The vectors come before the kernels that are written in terms of them.
#include "cc/device/cpu/kernel_set.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // defined(__x86_64__)
