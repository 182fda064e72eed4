#include "cc/device/cpu/cpu_backend.h"

#include <cassert>

namespace cavs {
namespace {

const KernelTables* TablesFor(Isa isa) {
  assert(IsSupported(isa));
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return &kAvx512Kernels;
  if (isa == Isa::kAvx2) return &kAvx2Kernels;
#endif
  return &kPortableKernels;
}

const KernelTable<BFloat16>* BFloat16TableFor(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Bf16) return &kAvx512Bf16Kernels;
#endif
  return &TablesFor(isa)->bfloat16;
}

}  // namespace

CpuBackend::CpuBackend(Workers* workers, Isa isa)
    : workers_(workers),
      isa_(isa),
      tables_(TablesFor(isa)),
      bfloat16_(BFloat16TableFor(isa)) {}

}  // namespace cavs
