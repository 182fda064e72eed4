// Compiles the functions in an op's attributes to a model.
#ifndef CAVS_CC_KERNELS_COMPILE_H_
#define CAVS_CC_KERNELS_COMPILE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/exec/executor.h"
#include "cc/kernels/lower.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

struct CompiledModel {
  Model model;
  // By type, the types of the captures that are arguments of its function, by
  // number of the capture.
  std::vector<std::map<int, tensorflow::DataType>> capture_types;
};

// Lowers the functions in attribute <which>_functions, one per vertex type,
// whose signatures are in <which>_signatures, and compiles them for `device`,
// which must outlive the result, without variants. kInvalidArgument unless they
// are of the kind `expected`, if one is given.
absl::Status Compile(tensorflow::OpKernelConstruction* context,
                     const Device& device, const std::string& which,
                     std::optional<FunctionKind> expected,
                     CompiledModel* compiled);

// Compiles vertex_functions with variants; nothing goes on a tape.
absl::Status CompileInference(tensorflow::OpKernelConstruction* context,
                              const Device& device, CompiledModel* compiled);

// Compiles vertex_functions and gradient_functions with variants. `backward`
// has no programs if there are no gradient_functions.
absl::Status CompileTraining(tensorflow::OpKernelConstruction* context,
                             const Device& device, CompiledModel* forward,
                             CompiledModel* backward);

// The rows [num_rows, ...] of a tensor as a block. To be written only if the
// tensor was just allocated.
Block ToBlock(const tensorflow::Tensor& tensor);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_COMPILE_H_
