// One GPU of this process: its driver, its compiler and its kernels.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_CONTEXT_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/ceil_div.h"
#include "cc/base/status.h"
#include "cc/device/cuda/compiler.h"
#include "cc/device/cuda/driver.h"
#include "cc/device/cuda/source/text.h"

namespace cavs {

// The size of a launch: blocks of kCudaThreads, and bytes of shared memory of
// each.
struct CudaGrid {
  unsigned x = 1, y = 1, z = 1;
  unsigned shared_bytes = 0;
};
// The grid of so many threads.
inline CudaGrid CudaGridOf(int64_t threads) {
  CudaGrid grid;
  grid.x = static_cast<unsigned>(CeilDiv(threads, kCudaThreads));
  return grid;
}

class CublasLt;

// Thread safety: any thread may call any method at any time.
class CudaContext {
 public:
  // Makes the context of a GPU current on the calling thread as long as it
  // exists; null: does nothing, where the context is current.
  class Current {
   public:
    explicit Current(const CudaContext& context) : Current(&context) {}
    explicit Current(const CudaContext* context) : context_(context) {
      if (context == nullptr) return;
      context->driver().CtxPushCurrent(context->handle_);
    }
    ~Current() {
      CudaContextHandle before;
      if (context_ != nullptr) context_->driver().CtxPopCurrent(&before);
    }
    Current(const Current&) = delete;

   private:
    const CudaContext* const context_;
  };

  // Paths where NVRTC and cuBLASLt may be.
  struct Libraries {
    std::vector<std::string> compilers, products;
  };

  // Opens a GPU. kUnimplemented, with what to do, if there is no driver, no
  // compiler or no such GPU, if the GPU is too old, or if there is no cuBLASLt
  // but the user needs it.
  static Status Open(int ordinal, const Libraries& libraries,
                     std::shared_ptr<const CudaContext>* context);
  // What Open() needs: a line for each, with what was found or what is missing.
  // "NVRTC: 12.9, libnvrtc.so.12".
  static std::vector<std::string> Report(const Libraries& libraries);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;

  const CudaDriver& driver() const { return *driver_; }
  int num_processors() const { return num_processors_; }
  // The most shared memory of a block, in bytes.
  int shared_bytes() const { return shared_bytes_; }
  // The most blocks of a grid from its first row to its last.
  int64_t most_grid_y() const { return most_grid_y_; }
  bool launches_cooperatively() const { return launches_cooperatively_; }
  const std::string& name() const { return name_; }
  // Null if it was not found, or not to be looked for.
  const CublasLt* cublas_lt() const { return cublas_lt_.get(); }

  // A kernel of a text, which is compiled and loaded when it is first asked
  // for. It may use as much shared memory as the GPU has for a block.
  Status Find(const CudaTextKernel& kernel, CudaFunction* function) const;
  // A kernel that walks through launches of these texts, perhaps of others too,
  // compiled and loaded in the same way. Gives the number that each of these
  // has there.
  Status FindWalk(const std::vector<CudaTextKernel>& kernels,
                  CudaFunction* function, std::vector<int>* numbers) const;

  // Launches a kernel whose argument is a struct, which is copied.
  Status Launch(CudaFunction function, const CudaGrid& grid,
                CudaStreamHandle stream, const void* arguments) const {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return Status();
    void* pointers[] = {const_cast<void*>(arguments)};
    return driver_->Check(
        driver_->LaunchKernel(function, grid.x, grid.y, grid.z, kCudaThreads, 1,
                              1, grid.shared_bytes, stream, pointers, nullptr),
        "a launch");
  }

 private:
  CudaContext() = default;

  // Sets what is known of a GPU that is not opened yet; sees whether it will
  // do.
  Status LookAt(int ordinal);
  // A kernel of a text that was compiled before, or is now. REQUIRES mutex_.
  Status FindIn(const std::string& text, const std::string& kernel,
                CudaFunction* function) const;

  std::shared_ptr<const CudaDriver> driver_;
  std::shared_ptr<const CudaCompiler> compiler_;
  int device_ = 0;
  CudaContextHandle handle_ = nullptr;
  int major_ = 0, minor_ = 0, num_processors_ = 0, shared_bytes_ = 0;
  int most_grid_y_ = 0;
  bool launches_cooperatively_ = false;
  std::string name_;
  std::unique_ptr<const CublasLt> cublas_lt_;
  mutable std::mutex mutex_;
  // All GUARDED_BY(mutex_). Keys hold the texts that they point to.
  mutable std::map<std::string, CudaModuleHandle> modules_;  // By text.
  mutable std::map<CudaTextKernel, CudaFunction> functions_;
  mutable std::vector<std::pair<std::vector<CudaTextKernel>, CudaFunction>>
      walks_;
};

// A kernel that is launched again and again: it is looked up once.
//
// Thread safety: any thread may call any method at any time.
class CudaFoundKernel {
 public:
  explicit CudaFoundKernel(CudaTextKernel kernel)
      : kernel_(std::move(kernel)) {}

  const CudaTextKernel& kernel() const { return kernel_; }
  // Does what CudaContext::Find() does. The context must always be the same.
  Status Find(const CudaContext& context, CudaFunction* function) const {
    // The driver's handle is all there is to see: nothing else is published.
    *function = function_.load(std::memory_order_relaxed);
    if (*function != nullptr) return Status();
    CAVS_RETURN_IF_ERROR(context.Find(kernel_, function));
    function_.store(*function, std::memory_order_relaxed);
    return Status();
  }

 private:
  const CudaTextKernel kernel_;
  mutable std::atomic<CudaFunction> function_{nullptr};
};

// The kernels of a text, in its order.
using CudaFoundKernels = std::vector<std::unique_ptr<const CudaFoundKernel>>;
CudaFoundKernels KernelsOf(const std::shared_ptr<const CudaText>& text);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_CONTEXT_H_
