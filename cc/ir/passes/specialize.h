// Makes programs for vertices that lack something.
#ifndef CAVS_CC_IR_PASSES_SPECIALIZE_H_
#define CAVS_CC_IR_PASSES_SPECIALIZE_H_

#include <cstdint>
#include <set>
#include <vector>

#include "cc/ir/program.h"

namespace cavs {

// A part of a result of the derivative that a variant was made of.
struct ResultPart {
  int result = 0;      // Its number there.
  int64_t offset = 0;  // The first element.
};

// A vertex function and its derivative for vertices of which no one has a
// child. They give what the general programs give, as long as certain captures
// and inputs are finite: zero times infinity is not zero. Gradients that come
// from outside are taken for finite.
struct Variant {
  Program function, derivative;
  // By result of the derivative, of which sum it is which part. Parts of
  // results that are missing are zero.
  std::vector<ResultPart> parts;
  // Which results of the function are left, by their numbers there. The
  // derivative names saved values by these numbers.
  std::vector<int> kept;
  std::set<int> finite_captures, finite_pulls;
};

// Whether variants give the same: the function gathers, and what the derivative
// does with sums over rows is linear. `derivative` is null if the function has
// no results.
bool MaySpecialize(const Program& function, const Program* derivative);

// Rows that such vertices gather are zero, and so is what follows from them
// alone: products, what is multiplied by it, its contribution to sums. What
// only computes zeros, or the gradients of children, is left out, and so are
// the results of the function that the derivative then does not read.
// Requires MaySpecialize() and classified programs.
Variant SpecializeForLeaves(const Program& function, const Program* derivative);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_SPECIALIZE_H_
