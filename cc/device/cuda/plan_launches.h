// Plans which nodes of a program run in one launch.
#ifndef CAVS_CC_DEVICE_CUDA_PLAN_LAUNCHES_H_
#define CAVS_CC_DEVICE_CUDA_PLAN_LAUNCHES_H_

#include <cstdint>
#include <vector>

#include "cc/ir/compiled_program.h"
#include "cc/ir/elementwise_group.h"

namespace cavs {

enum class LaunchKind : uint8_t {
  // Elementwise nodes over the same rows and columns, one after the other in
  // every thread.
  kElementwise,
  kMoves,     // Moves of rows, side by side.
  kProducts,  // Products side by side. Products that write one symbol are terms
              // of one sum.
  kSums,      // Sums over rows, side by side.
  kNode,      // One node of another kind.
};

struct CudaLaunch {
  LaunchKind kind = LaunchKind::kNode;
  std::vector<int> nodes;  // By number, in the order of the program.
  // kElementwise: the operators of all nodes, and the symbols of its operands.
  ElementwiseGroup group;
  std::vector<int> operands;
  int out = -1;  // A symbol with the rows and columns of all nodes.
  // kElementwise: whether it can be the epilogue of the launch before, which
  // are products: a block that computes the same columns of all of them needs
  // nothing of other blocks.
  bool is_epilogue = false;
  // kElementwise: if it is a sum of rows that the products of the next launch,
  // which have an epilogue, can form as they read it: its terms, in the order
  // in which they are added, and then the sum.
  std::vector<int> summed;
};

// The launches of a stage, in order. A node runs in a launch behind all that it
// depends on, so that there are few launches and much work in each.
std::vector<CudaLaunch> PlanLaunches(const CompiledProgram& program,
                                     Stage stage);

// By symbol: the node that sends its rows to the gradient of the children's
// state, if whoever computes them may write them there at once; else -1. One
// elementwise node of tasks writes each number, and nobody else reads it.
std::vector<int> FindSentBack(const CompiledProgram& program);

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_PLAN_LAUNCHES_H_
