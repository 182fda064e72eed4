// The instruction sets the CPU kernels are compiled for.
#ifndef CAVS_CC_DEVICE_CPU_ISA_H_
#define CAVS_CC_DEVICE_CPU_ISA_H_

namespace cavs {

// From what every machine has to the widest vectors.
enum class Isa { kPortable, kAvx2, kAvx512, kAvx512Bf16 };

// Whether this machine (processor and operating system) and this build can run
// code for `isa`.
bool IsSupported(Isa isa);

// The widest instruction set that is supported.
Isa BestIsa();

// "portable", "avx2", "avx512", "avx512bf16".
const char* IsaName(Isa isa);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_ISA_H_
