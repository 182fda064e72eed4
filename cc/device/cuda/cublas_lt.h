// NVIDIA's library of matrix products, found when the program runs.
#ifndef CAVS_CC_DEVICE_CUDA_CUBLAS_LT_H_
#define CAVS_CC_DEVICE_CUDA_CUBLAS_LT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/status.h"
#include "cc/device/cuda/cuda_kernels.h"

namespace cavs {

// Large dense products by cuBLASLt. All products of a shape are formed by one
// algorithm, wherever they lie, and no algorithm adds in an order that may
// change: the same step gives the same bits.
//
// Thread safety: any thread may call any method at any time, in the context
// that was current in Load().
class CublasLt {
 public:
  // Of the workspace of a product; products in one stream may share it.
  static constexpr size_t kWorkspaceBytes = (size_t{4} << 20) + 256;

  // Loads the library that CAVS_LIBCUBLASLT names, or else the first of
  // `candidates` that exists, or the one that the system finds. Null if there
  // is none or it does not start; if the environment variable CAVS_CUBLASLT is
  // 1, that is kUnimplemented, with what to do. Null if the variable is 0.
  static Status Load(const std::vector<std::string>& candidates,
                     std::unique_ptr<const CublasLt>* library);
  // A line that says what Load() finds; empty if it is not to look.
  static std::string Report(const std::vector<std::string>& candidates);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;

  // Whether a product of such matrices has many rows, and one more launch costs
  // less.
  static bool IsLarge(int64_t rows, int64_t depth, int64_t columns);

  // Enqueues a product, or sum over rows, if it is large and dense and the
  // library can form it; *done says so.
  Status Form(DType dtype, const CudaProduct& product, const CudaQueue& queue,
              void* workspace, bool* done) const;
  Status Form(DType dtype, const CudaSum& sum, const CudaQueue& queue,
              void* workspace, bool* done) const;

 private:
  struct Functions;
  struct Plan;  // What the library is told of products of one shape.
  // Types of operands and of the result, whether TF32 will do, m, n and k, the
  // pitches of a, b and the result, and whether a and b are transposed.
  using Shape = std::array<int64_t, 11>;
  // to (+)= a * b, by columns: rows of ours are the columns of the library.
  struct Matmul {
    Shape shape;
    const void *a, *b;
    void* to;
    bool accumulate;
  };

  CublasLt(std::unique_ptr<const Functions> functions, void* handle);
  static Status Find(const std::vector<std::string>& candidates,
                     std::string* path,
                     std::unique_ptr<const Functions>* functions);
  std::shared_ptr<const Plan> PlanOf(const Shape& shape) const;
  std::shared_ptr<const Plan> MakePlan(const Shape& shape) const;
  Status Run(const std::vector<Matmul>& products, CudaStreamHandle stream,
             void* workspace, bool* done) const;

  const std::unique_ptr<const Functions> functions_;
  void* const handle_;
  mutable std::mutex mutex_;
  mutable std::map<Shape, std::shared_ptr<const Plan>>
      plans_;  // GUARDED_BY(mutex_)
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUBLAS_LT_H_
