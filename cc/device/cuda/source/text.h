// Texts of kernels, to be launched one by one or walked through in one launch.
#ifndef CAVS_CC_DEVICE_CUDA_SOURCE_TEXT_H_
#define CAVS_CC_DEVICE_CUDA_SOURCE_TEXT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cavs {

// The threads of a block of every kernel.
constexpr int kCudaThreads = 256;

// What some kernels are made of. A kernel is a function of its arguments, `a`,
// and of the place of the block, `at`, which may be a block of its launch or
// one that another launch stands in for.
struct CudaText {
  struct Kernel {
    std::string name;
    std::string arguments;  // Their type.
    std::string call;       // What a block does: "move<char>(a, at)".
    // Whether it may use all registers, so that a processor has one block.
    bool is_alone = false;
  };

  std::string body;  // Types and functions.
  std::vector<Kernel> kernels;
};

// One of the kernels of a text.
using CudaTextKernel = std::pair<std::shared_ptr<const CudaText>, int>;

// A text to compile, with a kernel for each of them.
std::string StandaloneText(const CudaText& text);

// A text with one kernel, `walk`, which runs steps, each of them one of these
// kernels over blocks of its own, with a barrier of the grid behind each. It is
// launched cooperatively, by CudaWalk.
std::string TextOfWalk(const std::vector<CudaTextKernel>& kernels);

// Where the arguments of a step lie in shared memory while it runs; behind them
// is the memory that its kernel may use.
constexpr unsigned kCudaWalkArgumentBytes = 4096;

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_SOURCE_TEXT_H_
