// Many launches as one.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_WALK_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_WALK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/device/cuda/cuda_kernels.h"

namespace cavs {

// Launches that depend on one another, in order, collected to be run by one
// cooperative kernel: as many blocks as the GPU has processors walk through
// them, and wait for one another behind each. So a task costs a barrier of the
// grid where it would cost launches (as persistent recurrent networks do:
// Diamos et al. 2016, "Persistent RNNs", section 3).
class CudaWalk {
 public:
  // The kernel must outlive Run().
  void Add(const CudaFoundKernel& kernel, const CudaGrid& grid,
           const void* arguments, size_t bytes);
  // Lets the blocks of the launch that was added last go on with this kernel,
  // each when it is done: there is no barrier of the grid between the two.
  void AddBehind(const CudaFoundKernel& kernel, const void* arguments,
                 size_t bytes);

  // Enqueues all of them and forgets them; launch by launch if they are few, or
  // if the blocks do not fit onto the GPU at the same time.
  Status Run(const CudaKernels& kernels, CudaStreamHandle stream);

 private:
  // The step as the text of the kernel declares it.
  struct Step {
    int kernel;
    int width, height, depth;
    int64_t arguments;
    int num_words;
    int then = -1, then_arguments = 0;
    int unused = 0;
  };
  struct Launch {
    const CudaFoundKernel* kernel;
    CudaGrid grid;
    size_t begin, bytes;  // Where its arguments are.
  };

  Status RunOneByOne(const CudaKernels& kernels, CudaStreamHandle stream) const;
  // Finds the kernel for all launches, null if it cannot be launched, and
  // rewrites the steps so that they name kernels by their numbers there.
  Status BindKernel(const CudaKernels& kernels, CudaFunction* function,
                    unsigned* shared_bytes);
  Status RunTogether(const CudaKernels& kernels, CudaFunction function,
                     unsigned shared_bytes, CudaStreamHandle stream) const;
  int NumberOf(const CudaFoundKernel& kernel);
  // Copies arguments behind the others; returns where they begin.
  size_t Append(const void* arguments, size_t bytes);

  std::vector<const CudaFoundKernel*> kernels_;  // Each occurs once.
  std::vector<Step> steps_;
  std::vector<Launch> launches_;
  std::vector<char> arguments_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_WALK_H_
