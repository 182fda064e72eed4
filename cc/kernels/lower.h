// Lowers a traced TensorFlow function to a program.
#ifndef CAVS_CC_KERNELS_LOWER_H_
#define CAVS_CC_KERNELS_LOWER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/ir/program.h"
#include "tensorflow/core/framework/function.h"

namespace cavs {

// The meaning of one argument or result of a traced function: "gather:1" has
// role "gather" and index 1; "scatter" has no index (0).
struct Role {
  std::string name;
  int index = 0;
};

// Vertex functions and derivatives have different roles.
enum class FunctionKind { kVertex, kDerivative };

struct LoweredFunction {
  Program program;
  FunctionKind kind = FunctionKind::kVertex;
  // Maps the number of each capture that is an argument to its type.
  std::map<int, tensorflow::DataType> capture_types;
  // In a derivative, Program::results[i] is the gradient of the capture of
  // number result_captures[i].
  std::vector<int> result_captures;
};

// Builds the program of function `name`, which the runtime's library holds.
// `signature` gives the role of every argument and result, separated by commas
// and an arrow: "vertex_ids,gather:0,pull:0,capture:0->scatter,push:0,saved:0".
// Attribute _cavs_shapes of every node, written when the function was traced,
// gives the shapes of its outputs. A first dimension of -1 means one row per
// vertex. An unknown shape means an opaque value.
//
// Returns kInvalidArgument if the signature does not fit the function; if a
// role does not exist, occurs twice or has no valid number; or if the program
// cannot be run (see VerifyProgram). All of this is checked because functions
// may come from a file.
//
// Operators without a native kernel become foreign nodes. Their kernels are
// created once, by this function.
absl::Status Lower(tensorflow::FunctionLibraryRuntime* runtime,
                   const std::string& name, const std::string& signature,
                   LoweredFunction* lowered);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_LOWER_H_
