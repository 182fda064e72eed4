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

// A part of a result of the general derivative.
struct ResultPart {
  int result = 0;      // The number of the result.
  int64_t offset = 0;  // The first element.
};

// Some of the elements of a capture, or all of it.
struct CaptureRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

// The traits that every vertex of a variant has.
struct VertexTraits {
  bool childless = false;     // It has no children,
  bool all_children = false;  // or one in every slot.
  // The inputs that it has no row of, as numbers of pulls, and as numbers of
  // pull gradients.
  std::set<int> missing_pulls, missing_pull_grads;
  // The numbers of the pulls that are zero for vertices without children. Pulls
  // of booleans are true for vertices that have all children.
  std::set<int> of_children;
};

// A vertex function and its derivative for vertices with such traits. They
// give what the general programs give, as long as certain captures, inputs and
// gradients are finite: zero times infinity is not zero.
struct Variant {
  Program function, derivative;
  // By result of the derivative: the part that it is of a result of the general
  // derivative. Parts that are missing are zero.
  std::vector<ResultPart> parts;
  // Which results of the function are left, by their numbers there. The
  // derivative names saved values by these numbers.
  std::vector<int> kept;
  // The elements of captures, by number, and the inputs that must be finite.
  std::map<int, CaptureRange> finite_captures;
  std::set<int> finite_pulls;
  // Whether the gradients that come from outside must be finite.
  bool finite_gradients = false;

  bool NeedsFinite() const {
    return !finite_captures.empty() || !finite_pulls.empty() ||
           finite_gradients;
  }
};

// Whether a variant would be different and correct: the function reads children
// or inputs that the traits are about, and the derivative uses sums over rows
// linearly. `derivative` is null if the function has no results.
bool MaySpecialize(const Program& function, const Program* derivative,
                   const VertexTraits& traits);

// Makes the variant for vertices with these traits. Rows that they gather or
// pull are zero, and so are products of zeros and their terms of sums. A mask
// of ones keeps a value as it is, or replaces it by zero. Nodes are left out if
// they compute only zeros, or gradients of missing rows; results of the
// function are left out if the derivative no longer reads them. Requires
// MaySpecialize() and classified programs.
Variant Specialize(const Program& function, const Program* derivative,
                   const VertexTraits& traits);

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_SPECIALIZE_H_
