// Compares our own declarations of NVIDIA's functions with the headers that
// TensorFlow brings. It is only compiled.
#include <cublasLt.h>
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "cc/device/cuda/cublas_lt.cc"
#include "cc/device/cuda/driver.h"

namespace cavs {
namespace {

// Whether two types are passed in the same way.
template <typename A, typename B>
constexpr bool kPassedAlike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
    std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <typename A, typename B>
constexpr bool kCalledAlike = false;
template <typename R, typename... A, typename S, typename... B>
constexpr bool kCalledAlike<R (*)(A...), S (*)(B...)> = [] {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return kPassedAlike<R, S> && (... && kPassedAlike<A, B>);
  }
  return false;
}();

// The name is what the header makes of that of the version that it means.
#define CAVS_TEXT(name) #name
#define CAVS_TEXT_OF(name) CAVS_TEXT(name)
constexpr bool AreSame(const char* a, const char* b) {
  return *a == *b && (*a == 0 || AreSame(a + 1, b + 1));
}
#define CAVS_SAME_IN_DRIVER(member, name, arguments)            \
  static_assert(AreSame(name, CAVS_TEXT_OF(cu##member)), name); \
  static_assert(kCalledAlike<int(*) arguments, decltype(&cu##member)>, name);
CAVS_CUDA_FUNCTIONS(CAVS_SAME_IN_DRIVER)

#define CAVS_SAME_IN_CUBLASLT(name, arguments)                             \
  static_assert(kCalledAlike<int(*) arguments, decltype(&cublasLt##name)>, \
                #name);
CAVS_CUBLASLT_FUNCTIONS(CAVS_SAME_IN_CUBLASLT)

#define CAVS_SAME_NUMBER(own, theirs) \
  static_assert(static_cast<int>(own) == static_cast<int>(theirs), #theirs)
CAVS_SAME_NUMBER(kCudaMostGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
CAVS_SAME_NUMBER(kCudaProcessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
CAVS_SAME_NUMBER(kCudaMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
CAVS_SAME_NUMBER(kCudaMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
CAVS_SAME_NUMBER(kCudaCooperativeLaunch,
                 CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
CAVS_SAME_NUMBER(kCudaSharedBytesPerBlock,
                 CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
CAVS_SAME_NUMBER(kCudaMostDynamicSharedBytes,
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
CAVS_SAME_NUMBER(kCudaStreamNonBlocking, CU_STREAM_NON_BLOCKING);
CAVS_SAME_NUMBER(kCudaEventDisableTiming, CU_EVENT_DISABLE_TIMING);
CAVS_SAME_NUMBER(kCudaAttachGlobal, CU_MEM_ATTACH_GLOBAL);
CAVS_SAME_NUMBER(kCudaOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
CAVS_SAME_NUMBER(kCudaNotReady, CUDA_ERROR_NOT_READY);

CAVS_SAME_NUMBER(kReal32, CUDA_R_32F);
CAVS_SAME_NUMBER(kReal64, CUDA_R_64F);
CAVS_SAME_NUMBER(kReal16, CUDA_R_16F);
CAVS_SAME_NUMBER(kRealB16, CUDA_R_16BF);
CAVS_SAME_NUMBER(kCompute32, CUBLAS_COMPUTE_32F);
CAVS_SAME_NUMBER(kCompute64, CUBLAS_COMPUTE_64F);
CAVS_SAME_NUMBER(kComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
CAVS_SAME_NUMBER(kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
CAVS_SAME_NUMBER(kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
CAVS_SAME_NUMBER(false, CUBLAS_OP_N);
CAVS_SAME_NUMBER(true, CUBLAS_OP_T);
CAVS_SAME_NUMBER(kMostWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
CAVS_SAME_NUMBER(kReductions, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
CAVS_SAME_NUMBER(kReductionInSumType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
CAVS_SAME_NUMBER(kAlignmentOfA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
CAVS_SAME_NUMBER(kAlignmentOfA + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

static_assert(sizeof(CublasLtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
using Theirs = cublasLtMatmulHeuristicResult_t;
static_assert(sizeof(CublasLtFound) == sizeof(Theirs));
static_assert(offsetof(CublasLtFound, algorithm) == offsetof(Theirs, algo));
static_assert(offsetof(CublasLtFound, workspace) ==
              offsetof(Theirs, workspaceSize));
static_assert(offsetof(CublasLtFound, status) == offsetof(Theirs, state));

}  // namespace
}  // namespace cavs
