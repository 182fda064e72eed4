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
  // capture_types[t] maps the number of each capture that is an argument of the
  // function of vertex type t to the type of the capture.
  std::vector<std::map<int, tensorflow::DataType>> capture_types;
};

// Lowers the functions in attribute <which>_functions, one per vertex type,
// whose signatures are in attribute <which>_signatures. Compiles them without
// variants for `device`, which must outlive the result. Returns
// kInvalidArgument if `expected` is given and a function is of another kind.
absl::Status Compile(tensorflow::OpKernelConstruction* context,
                     const Device& device, const std::string& which,
                     std::optional<FunctionKind> expected,
                     CompiledModel* compiled);

// Compiles the functions in attribute vertex_functions with variants. The
// compiled programs put nothing on a tape.
absl::Status CompileInference(tensorflow::OpKernelConstruction* context,
                              const Device& device, CompiledModel* compiled);

// Compiles the functions in attributes vertex_functions and gradient_functions
// with variants. `backward` has no programs if there are no gradient_functions.
absl::Status CompileTraining(tensorflow::OpKernelConstruction* context,
                             const Device& device, CompiledModel* forward,
                             CompiledModel* backward);

// Returns the rows of a tensor [num_rows, ...] as a block in its memory. The
// caller may write to the block only if it has just allocated the tensor.
Block ToBlock(const tensorflow::Tensor& tensor);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_COMPILE_H_
