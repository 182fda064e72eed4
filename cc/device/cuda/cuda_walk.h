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

  // Memory of the GPU that is enough to run so many launches, if they are few.
  static size_t BytesOf(int64_t launches);

  // Enqueues all of them and forgets them: launch by launch if they are few, or
  // if the blocks do not fit onto the GPU at the same time; else as few walks
  // as the memory, which the stream uses, has room for.
  Status Run(const CudaKernels& kernels, CudaStreamHandle stream, void* memory,
             size_t bytes);

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

  // The launches whose arguments begin at `first` or behind.
  Status RunOneByOne(const CudaKernels& kernels, CudaStreamHandle stream,
                     size_t first) const;
  // Finds the kernel for all launches, null if it cannot be launched, and
  // rewrites the steps so that they name kernels by their numbers there.
  Status BindKernel(const CudaKernels& kernels, CudaFunction* function,
                    unsigned* shared_bytes);
  // Launches the steps [first, end) as one, unless that does not fit.
  Status RunTogether(const CudaKernels& kernels, CudaFunction function,
                     unsigned shared_bytes, CudaStreamHandle stream,
                     void* memory, size_t first, size_t end, bool* fits) const;
  // Where the arguments of a step begin, or where those of the last one end.
  size_t ArgumentsOf(size_t step) const {
    return step < steps_.size() ? static_cast<size_t>(steps_[step].arguments)
                                : arguments_.size();
  }
  // What the steps [first, end) take of the GPU's memory.
  size_t BytesOfSteps(size_t first, size_t end) const;
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
