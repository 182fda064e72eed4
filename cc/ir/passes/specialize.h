// Makes programs for vertices that have something in common.
#ifndef CAVS_CC_IR_PASSES_SPECIALIZE_H_
#define CAVS_CC_IR_PASSES_SPECIALIZE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "cc/ir/program.h"

namespace cavs {

// A part of a result of the derivative that a variant was made of.
struct ResultPart {
  int result = 0;      // Its number there.
  int64_t offset = 0;  // The first element.
};

// Some of the elements of a capture, or all of it.
struct CaptureRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

// What holds for every vertex of a variant.
struct VertexTraits {
  bool childless = false;     // It has no children,
  bool all_children = false;  // or one in every slot.
  // It has no rows of these inputs, and of the gradients of them: the numbers
  // of pulls, and of pull gradients.
  std::set<int> missing_pulls, missing_pull_grads;
  // The numbers of pulls that are zero without children. Those of booleans are
  // true with all children.
  std::set<int> of_children;
};

// A vertex function and its derivative for vertices with such traits. They
// give what the general programs give, as long as certain captures and inputs
// are finite: zero times infinity is not zero. Gradients that come from outside
// are taken for finite.
struct Variant {
  Program function, derivative;
  // By result of the derivative, of which sum it is which part. Parts of
  // results that are missing are zero.
  std::vector<ResultPart> parts;
  // Which results of the function are left, by their numbers there. The
  // derivative names saved values by these numbers.
  std::vector<int> kept;
  // What must be finite: elements of captures, by number, and inputs.
  std::map<int, CaptureRange> finite_captures;
  std::set<int> finite_pulls;
};

// Whether a variant is of use and gives the same: the function reads what the
// traits are about, and what the derivative does with sums over rows is linear.
// `derivative` is null if the function has no results.
bool MaySpecialize(const Program& function, const Program* derivative,
                   const VertexTraits& traits);

// Rows that such vertices gather or pull are zero, and so is what follows from
// them alone: products, what is multiplied by it, its contribution to sums.
// What a mask of ones keeps is as it was, and what it drops is zero. What only
// computes zeros, or the gradients of what is missing, is left out, and so are
// the results of the function that the derivative then does not read. Requires
// MaySpecialize() and classified programs.
Variant Specialize(const Program& function, const Program* derivative,
                   const VertexTraits& traits);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_SPECIALIZE_H_
