#include "cc/device/cuda/source/text.h"

#include <map>

namespace cavs {
namespace {

constexpr char kBegin[] = R"(#include "cavs_device.h"

// The place of a block in a grid of width x height x depth blocks, and the
// shared memory that it may use.
struct Where {
  int x, y, z, width, height;
  Shared<char> memory;
};
)";

constexpr char kWalk[] = R"(
// Blocks of a kernel, whose arguments begin so many bytes behind those of the
// first. If `then` is not -1, each block goes on with that kernel, whose
// arguments lie then_arguments bytes behind those of the first one.
struct Step {
  int kernel;
  int width, height, depth;
  i64 arguments;
  int num_words;
  int then, then_arguments;
  int unused;
};
struct WalkArgs {
  Global<const Step> steps;
  Global<const char> arguments;
  Global<u32> counter;
  int num_steps;
};
// One block of it runs on a processor, so that it may have all registers.
KERNEL(walk, WalkArgs, 256, 1) {
  SHARED_MEMORY(memory);
  Shared<u32> own = cast<u32>(memory);
  u32 round = grid_begin(a.counter);
  for (int s = 0; s < a.num_steps; ++s) {
    const Step step = a.steps[s];
    Global<const u32> arguments = cast<const u32>(a.arguments + step.arguments);
    for (int i = thread_index(); i < step.num_words; i += thread_count()) {
      const u32 word = arguments[i];
      own[i] = word;
    }
    barrier();
    const int blocks = step.width * step.height * step.depth;
    for (int b = block_x(); b < blocks; b += grid_x()) {
      const Where at = {b % step.width, b / step.width % step.height,
                        b / (step.width * step.height), step.width,
                        step.height, memory + 4096};
      int kernel = step.kernel, place = 0;
#pragma unroll 1
      while (kernel >= 0) {
        run(kernel, memory + place, at);
        barrier();
        kernel = place == 0 ? step.then : -1;
        place = step.then_arguments;
      }
    }
    grid_barrier(a.counter, &round);
  }
}
)";

}  // namespace

std::string StandaloneText(const CudaText& text) {
  std::string all = kBegin + text.body;
  for (const CudaText::Kernel& kernel : text.kernels) {
    all += "KERNEL(" + kernel.name + ", " + kernel.arguments +
           (kernel.is_alone ? ", 256, 1" : ", 256") +
           ") {\n  SHARED_MEMORY(memory);\n"
           "  const Where at = {block_x(), block_y(), block_z(), grid_x(), "
           "grid_y(), memory};\n  " +
           kernel.call + ";\n}\n";
  }
  return all;
}

std::string TextOfWalk(const std::vector<CudaTextKernel>& kernels) {
  std::string all = kBegin;
  std::string run =
      "FUNCTION void run(int kernel, Shared<const char> arguments,\n"
      "                  const Where& at) {\n  switch (kernel) {\n";
  std::map<const CudaText*, std::string> scopes;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const CudaText& text = *kernels[i].first;
    const CudaText::Kernel& kernel = text.kernels[kernels[i].second];
    std::string& scope = scopes[&text];
    if (scope.empty()) {
      scope = "text" + std::to_string(scopes.size());
      all += "namespace " + scope + " {\n" + text.body + "}\n";
    }
    run += "    case " + std::to_string(i) + ": {\n      using namespace " +
           scope + ";\n      const " + scope + "::" + kernel.arguments +
           "& a = object_at<" + scope + "::" + kernel.arguments +
           ">(arguments);\n      " + scope + "::" + kernel.call +
           ";\n      break;\n    }\n";
  }
  return all + run + "  }\n}\n" + kWalk;
}

}  // namespace cavs
