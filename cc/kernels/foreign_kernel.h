// Runs an operator of a vertex function with TensorFlow's own kernel.
#ifndef CAVS_CC_KERNELS_FOREIGN_KERNEL_H_
#define CAVS_CC_KERNELS_FOREIGN_KERNEL_H_

#include <memory>

#include "absl/status/status.h"
#include "cc/ir/foreign_op.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace cavs {

// Makes a ForeignOp that runs `node` with TensorFlow's kernel. On a GPU it
// makes one whose Run() returns an error. The `host` that Run() expects is the
// OpKernelContext of the op that runs the program.
absl::Status MakeForeignKernel(tensorflow::FunctionLibraryRuntime* runtime,
                               const tensorflow::Node& node,
                               std::shared_ptr<ForeignOp>* foreign);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_FOREIGN_KERNEL_H_
