#include "cc/device/cpu/isa.h"

#include "cc/device/cpu/isa_limit.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cavs {
namespace {

#if defined(__x86_64__)
// Compilers disagree on a name for it. Asked once: in a virtual machine the
// instruction takes microseconds.
bool ConvertsFloat16() {
  static const bool converts = [] {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return converts;
}
#endif

}  // namespace

bool IsSupported(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kPortable:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             ConvertsFloat16();
    case Isa::kAvx512:
      return IsSupported(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl");
    case Isa::kAvx512Bf16:
      return IsSupported(Isa::kAvx512) && __builtin_cpu_supports("avx512bf16");
  }
  return false;
#else
  return isa == Isa::kPortable;
#endif
}

Isa BestIsa() {
  static const Isa best = [] {
    for (Isa isa : {Isa::kAvx512Bf16, Isa::kAvx512, Isa::kAvx2}) {
      if (isa <= IsaLimit() && IsSupported(isa)) return isa;
    }
    return Isa::kPortable;
  }();
  return best;
}

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512bf16";
  }
  return "";
}

}  // namespace cavs
