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

// Builds the program of function `name`, which the runtime's library holds.
// `signature` gives the role of every argument and result, separated by commas
// and an arrow: "vertex_ids,gather:0,pull:0,capture:0->scatter,push:0,saved:0".
// Attribute _cavs_shapes of every node, written when the function was traced,
// gives the shapes of its outputs. A first dimension of -1 means "one row per
// vertex"; an unknown shape, "an opaque value".
//
// Operators that the backend does not know become foreign nodes, whose kernels
// are created here, once.
absl::Status Lower(tensorflow::FunctionLibraryRuntime* runtime,
                   const std::string& name, const std::string& signature,
                   LoweredFunction* lowered);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_LOWER_H_
