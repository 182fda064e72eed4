// The kernels of bfloat16 for processors with AVX-512 (F, DQ, BW, VL, BF16).
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "cc/device/cpu/compiler.h"
#include "cc/device/cpu/kernel_table.h"

// Everything below this line may use AVX-512; see kernel_set.h.
#if defined(__clang__)
#pragma clang attribute push(                                            \
    __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl," \
                          "avx512bf16"))),                               \
    apply_to = function)
#else
// GCC's own header leaves a variable of every intrinsic unset on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl,avx512bf16")
#endif

#define CAVS_ISA avx512bf16
#define CAVS_DOT_PAIRS(x, y, sum)                      \
  _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), \
                   reinterpret_cast<__m512bh>(y))
#include "cc/device/cpu/simd_avx512.h"
// The vectors come before the kernels that are written in terms of them.
#include "cc/device/cpu/kernel_set.h"

namespace cavs {

constexpr KernelTable<BFloat16> kAvx512Bf16Kernels =
    avx512bf16::Table<BFloat16>::kKernels;

}  // namespace cavs

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // defined(__x86_64__)
