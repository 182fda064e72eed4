// From the attributes of an op to the model that it runs.
#ifndef CAVS_CC_KERNELS_COMPILE_H_
#define CAVS_CC_KERNELS_COMPILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/executor.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

struct CompiledModel {
  Model model;
  // Derivatives: per type, the captures that Program::results are gradients of.
  std::vector<std::vector<int>> result_captures;
};

// Lowers the functions in attribute <which>_functions, one per vertex type,
// whose signatures are in <which>_signatures, and runs the passes over them.
// Without `keep_results` nothing goes on a tape.
absl::Status Compile(tensorflow::OpKernelConstruction* context,
                     const std::string& which, bool keep_results,
                     CompiledModel* compiled);

// Is there a node of this kind and index?
bool Has(const Program& program, NodeKind kind, size_t index);

// Rows [num_rows, ...] of a tensor as a block. Read-only use only, unless the
// tensor was just allocated.
Block ToBlock(const tensorflow::Tensor& tensor);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_COMPILE_H_
