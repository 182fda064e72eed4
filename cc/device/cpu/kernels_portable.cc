// The kernels for any processor.
#include <cstdint>
#include <utility>

#include "cc/device/cpu/compiler.h"
#include "cc/device/cpu/kernel_table.h"

#define CAVS_ISA portable
#define CAVS_TABLES kPortableKernels
#include "cc/device/cpu/simd_portable.h"
// The vectors come before the kernels that are written in terms of them.
#include "cc/device/cpu/kernel_set.h"
