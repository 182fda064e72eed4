// Short descriptions of nodes for people.
#ifndef CAVS_CC_IR_LABEL_H_
#define CAVS_CC_IR_LABEL_H_

#include <string>

#include "cc/ir/program.h"

namespace cavs {

// What a node computes: "gather(0)", "Softmax", "MatMul x2 (gates/i, gates/f)",
// "group of 3: AddV2, Tanh x2".
std::string Label(const Node& node);

}  // namespace cavs

#endif  // CAVS_CC_IR_LABEL_H_
