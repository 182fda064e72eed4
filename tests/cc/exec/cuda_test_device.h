// A GPU, or what stands in for one.
#ifndef CAVS_TESTS_CC_EXEC_CUDA_TEST_DEVICE_H_
#define CAVS_TESTS_CC_EXEC_CUDA_TEST_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/byte_count.h"
#include "cc/device/cuda/cuda_device.h"
#include "cc/device/cuda/cuda_stream.h"
#include "cc/ir/foreign_op.h"

namespace cavs {

// The first GPU, with memory for tests.
class TestGpu {
 public:
  // Null if there is none. A driver that CAVS_LIBCUDA names has to have one.
  static std::shared_ptr<TestGpu> Open() {
    std::shared_ptr<const CudaContext> context;
    const Status status = CudaContext::Open(0, {}, &context);
    if (status.ok()) {
      return std::shared_ptr<TestGpu>(new TestGpu(std::move(context)));
    }
    if (std::getenv("CAVS_LIBCUDA") == nullptr) return nullptr;
    std::fprintf(stderr, "CAVS_LIBCUDA: %s\n", status.message().c_str());
    std::abort();
  }

  const std::shared_ptr<const CudaKernels>& kernels() const { return kernels_; }
  const CudaContext& context() const { return kernels_->context(); }

  // Memory that kernels and, when all work is done, the host may use.
  std::shared_ptr<void> AllocateForBoth(size_t bytes) const {
    const CudaContext::Current current(context());
    CudaAddress data = 0;
    context().driver().MemAllocManaged(&data, bytes + 64, kCudaAttachGlobal);
    return {reinterpret_cast<void*>(data), [kernels = kernels_](void* own) {
              const CudaContext::Current current(kernels->context());
              kernels->context().driver().MemFree(
                  reinterpret_cast<CudaAddress>(own));
            }};
  }
  void WaitForAll() const {
    const CudaContext::Current current(context());
    context().driver().CtxSynchronize();
  }
  void CopyOut(void* to, const void* from, size_t bytes) const {
    const CudaContext::Current current(context());
    if (bytes == 0) return;
    context().driver().MemcpyDtoH(to, reinterpret_cast<CudaAddress>(from),
                                  bytes);
  }
  void CopyIn(void* to, const void* from, size_t bytes) const {
    const CudaContext::Current current(context());
    if (bytes == 0) return;
    context().driver().MemcpyHtoD(reinterpret_cast<CudaAddress>(to), from,
                                  bytes);
    // The copy may return before it is done, and streams do not wait for it.
    context().driver().CtxSynchronize();
  }

 private:
  explicit TestGpu(std::shared_ptr<const CudaContext> context)
      : kernels_(std::make_shared<CudaKernels>(std::move(context))) {}

  const std::shared_ptr<const CudaKernels> kernels_;
};

// Stands in for a framework's kernel on the GPU: lets an operator of the host
// work on copies.
class OpOfGpu : public ForeignOp {
 public:
  OpOfGpu(std::shared_ptr<TestGpu> gpu, std::shared_ptr<ForeignOp> inner)
      : gpu_(std::move(gpu)), inner_(std::move(inner)) {}

  Status Run(void* host, const std::vector<TensorRef>& inputs,
             std::vector<TensorRef>* outputs) const override {
    gpu_->WaitForAll();
    std::vector<std::vector<char>> copies;
    copies.reserve(inputs.size() + outputs->size());
    std::vector<TensorRef> in, out;
    for (const TensorRef& ref : inputs) in.push_back(CopyOf(ref, &copies));
    for (const TensorRef& ref : *outputs) out.push_back(CopyOf(ref, &copies));
    CAVS_RETURN_IF_ERROR(inner_->Run(host, in, &out));
    for (size_t i = 0; i < out.size(); ++i) {
      TensorRef& own = outputs->at(i);
      if (own.opaque) {
        own = out[i];
      } else if (own.data != nullptr) {
        gpu_->CopyIn(own.data, out[i].data, BytesOf(own));
      } else {  // It has made the memory, which now has to be the GPU's.
        const size_t bytes = BytesOf(out[i]);
        own = out[i];
        own.handle = gpu_->AllocateForBoth(bytes);
        own.data = own.handle.get();
        gpu_->CopyIn(own.data, out[i].data, bytes);
      }
    }
    return Status();
  }

 private:
  // From the first element to the last.
  static size_t BytesOf(const TensorRef& ref) {
    int64_t n = 1;
    for (const int64_t d : ref.shape) n *= d;
    if (ref.pitch > 0 && n > 0) {
      n = (ref.shape[0] - 1) * ref.pitch + n / ref.shape[0];
    }
    // Types that are not native are stored as numbers of 8 bytes at most.
    return n * SizeOf(ref.dtype);
  }

  TensorRef CopyOf(const TensorRef& ref,
                   std::vector<std::vector<char>>* copies) const {
    TensorRef copy = ref;
    if (ref.opaque || ref.data == nullptr) return copy;
    copies->emplace_back(BytesOf(ref));
    gpu_->CopyOut(copies->back().data(), ref.data, copies->back().size());
    copy.data = copies->back().data();
    return copy;
  }

  const std::shared_ptr<TestGpu> gpu_;
  const std::shared_ptr<ForeignOp> inner_;
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_CUDA_TEST_DEVICE_H_
