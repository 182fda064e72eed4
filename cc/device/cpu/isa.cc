#include "cc/device/cpu/isa.h"

namespace cavs {

bool IsSupported(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kPortable:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
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
  if (IsSupported(Isa::kAvx512Bf16)) return Isa::kAvx512Bf16;
  if (IsSupported(Isa::kAvx512)) return Isa::kAvx512;
  if (IsSupported(Isa::kAvx2)) return Isa::kAvx2;
  return Isa::kPortable;
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
