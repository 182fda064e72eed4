// The kernels for any processor.
#include <cstdint>
#include <utility>

#include "cc/backend/cpu/compiler.h"
#include "cc/backend/cpu/kernel_table.h"

#define CAVS_ISA portable
#define CAVS_TABLES kPortableKernels
#include "cc/backend/cpu/simd_portable.h"
// The vectors come before the kernels that are written in terms of them.
#include "cc/backend/cpu/kernel_set.h"
