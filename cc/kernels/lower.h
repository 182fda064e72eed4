// From a traced TensorFlow function to a program of the core.
#ifndef CAVS_CC_KERNELS_LOWER_H_
#define CAVS_CC_KERNELS_LOWER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/program.h"
#include "tensorflow/core/framework/function.h"

namespace cavs {

// What one argument or result of a traced function is: "gather:1" has role
// "gather" and index 1; "scatter" has no index (0).
struct Role {
  std::string name;
  int index = 0;
};

struct LoweredFunction {
  Program program;
  // Derivative: which capture each of Program::results is the gradient of.
  std::vector<int> result_captures;
};

// Builds the program of function `name`, which the runtime's library holds. Its
// attributes, written when it was traced, say what TensorFlow's signature cannot:
//
//   _cavs_inputs, _cavs_outputs: the role of every argument and result;
//   _cavs_input_shapes: the shape of every argument;
//   _cavs_shapes (on nodes): the shapes of their outputs. A first dimension of
//   -1 means "one row per vertex"; an unknown shape, "an opaque value".
//
// Operators that the backend does not know become foreign nodes, whose kernels
// are created here, once.
absl::Status Lower(tensorflow::FunctionLibraryRuntime* runtime,
                   const std::string& name, LoweredFunction* lowered);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_LOWER_H_
