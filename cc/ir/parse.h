// Programs from text.
#ifndef CAVS_CC_IR_PARSE_H_
#define CAVS_CC_IR_PARSE_H_

#include <memory>
#include <string_view>
#include <vector>

#include "cc/base/status.h"
#include "cc/ir/program.h"

namespace cavs {

// Reads what Print() writes, so that it prints the same again. kInvalidArgument
// with the number of the line if it cannot be read; whether the program makes
// sense, VerifyProgram() says.
//
// `constants`: the values of constants, by number. Foreign operators have no
// kernel: a program that has some cannot be run. Numbers that no symbol has
// become opaque symbols that nothing names. What follows // in a line is a
// comment; a node without a stage is critical, as before Classify().
Status Parse(std::string_view text,
             const std::vector<std::shared_ptr<const TensorRef>>& constants,
             Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PARSE_H_
