// From the attributes of an op to the model that it runs.
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
  // Per type, those of the captures that there are arguments for, by number.
  std::vector<std::map<int, tensorflow::DataType>> capture_types;
};

// Lowers the functions in attribute <which>_functions, one per vertex type,
// whose signatures are in <which>_signatures, and compiles them for `device`,
// which must outlive the result. Without `keep_results` nothing goes on a tape.
// kInvalidArgument unless they are of the kind `expected`; none: any.
absl::Status Compile(tensorflow::OpKernelConstruction* context,
                     const Device& device, const std::string& which,
                     std::optional<FunctionKind> expected, bool keep_results,
                     CompiledModel* compiled);

// Rows [num_rows, ...] of a tensor as a block. Read-only use only, unless the
// tensor was just allocated.
Block ToBlock(const tensorflow::Tensor& tensor);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_COMPILE_H_
