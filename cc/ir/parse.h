// Reads programs from text.
#ifndef CAVS_CC_IR_PARSE_H_
#define CAVS_CC_IR_PARSE_H_

#include <memory>
#include <string_view>
#include <vector>

#include "cc/base/status.h"
#include "cc/ir/program.h"

namespace cavs {

// Reads the output of Print(), so that printing the result gives the same text.
// kInvalidArgument, with the number of the line, if it cannot be read.
// VerifyProgram() tells whether the program can be run.
//
// `constants` has the values of constants, by number. Foreign operators get no
// kernel: a program that has some cannot be run. Numbers that the text skips
// become opaque symbols that no node uses. The rest of a line after // is a
// comment. A node without a stage is critical, as before Classify().
Status Parse(std::string_view text,
             const std::vector<std::shared_ptr<const TensorRef>>& constants,
             Program* program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PARSE_H_
