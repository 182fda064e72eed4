#include "cc/device/cpu/cpu_backend.h"

#include <cassert>

namespace cavs {
namespace {

KernelTables TablesFor(Isa isa) {
  assert(IsSupported(isa));
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Bf16) {
    KernelTables tables = kAvx512Kernels;
    tables.Of<BFloat16>() = &kAvx512Bf16Kernels;
    return tables;
  }
  if (isa == Isa::kAvx512) return kAvx512Kernels;
  if (isa == Isa::kAvx2) return kAvx2Kernels;
#endif
  return kPortableKernels;
}

}  // namespace

CpuBackend::CpuBackend(Workers* workers, Isa isa)
    : workers_(workers), isa_(isa), tables_(TablesFor(isa)) {}

}  // namespace cavs
