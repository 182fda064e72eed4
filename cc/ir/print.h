// Writes programs as text.
#ifndef CAVS_CC_IR_PRINT_H_
#define CAVS_CC_IR_PRINT_H_

#include <memory>
#include <string>
#include <vector>

#include "cc/ir/compiled_program.h"

namespace cavs {

const char* ToString(DType dtype);                      // "f32".
const char* ToString(SymbolKind kind, RowSpace space);  // "rows", "edges".

// One line for each node, and for each symbol that no node computes:
//
//   program "Cell.vertex"       (or: derivative "Cell.vertex")
//     %0 = gather(0) : rows<128xf32>  {critical}
//     @1 = capture(0) : invariant<64x64xf32> as "kernel"
//     %2 = view %0[64:128] : rows<64xf32>
//     @9 = view @1[32:4096 by 64] : invariant<64x32xf32>
//     %3 = matmul %2, @1 : rows<64xf32>  {critical}  "dense/MatMul" MatMul
//     %5 = group %3  {critical}  "tanh" Group
//       %4 = tanh %3 : rows<64xf32>  "tanh" Tanh
//       %5 = neg %4 : rows<64xf32>  "neg" Neg
//     end
//     scatter %5  {critical}
//     results %5
//
// Symbols are named by their numbers, those that are the same for every vertex
// after an @. A symbol that lies in another one says so where it is first
// written (`: rows<64xf32> in %0[64:128]`); one that is written through its
// views is `storage`. A node ends with its name in the traced function and the
// framework's operator, if it has them; a symbol with another name than the
// node that writes it says so (`as`). Symbols that no node uses are left out.
//
// Parse() reads the text again. It does not contain the values of constants,
// which are numbered as in Constants(), the kernels of foreign operators,
// labels, and the decisions of passes about memory.
std::string Print(const Program& program);

// Prints the program with comments at the values and nodes that need not be
// computed for a task in which no vertex has a child.
std::string Print(const CompiledProgram& program);

// The values of all constants, in the order of their symbols.
std::vector<std::shared_ptr<const TensorRef>> Constants(const Program& program);

}  // namespace cavs

#endif  // CAVS_CC_IR_PRINT_H_
