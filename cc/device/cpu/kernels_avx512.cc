// The kernels for processors with AVX-512 (F, DQ, BW, VL).
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "cc/device/cpu/compiler.h"
#include "cc/device/cpu/kernel_table.h"

// Everything below this line may use AVX-512; see kernel_set.h.
#if defined(__clang__)
#pragma clang attribute push(                                               \
    __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl"))), \
    apply_to = function)
#else
// GCC's own header leaves a variable of every intrinsic unset on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")
#endif

#define CAVS_ISA avx512
#define CAVS_TABLES kAvx512Kernels
#include "cc/device/cpu/simd_avx512.h"
// The vectors come before the kernels that are written in terms of them.
#include "cc/device/cpu/kernel_set.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // defined(__x86_64__)
