// The table of operators: all that passes need to know, one row each.
#ifndef CAVS_CC_IR_OPERATORS_H_
#define CAVS_CC_IR_OPERATORS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cavs {

enum class NodeKind : uint8_t {
  // Operators that move rows in and out of a program. In a derivative the
  // directions swap: state gradients enter by scatter's gradient and leave by
  // gather's.
  // out <- state[child_row[index]]; or, of edges, out <- state[child]
  kGather,
  kScatter,      // state <- in
  kPull,         // out <- external input `index`, in execution order
  kPush,         // external output `index` <- in, in vertex order
  kScatterGrad,  // out <- state gradient
  kGatherGrad,   // state gradient[child_row[index]] += in; or [child], of edges
  kPullGrad,     // gradient of external input `index` <- in
  kPushGrad,     // out <- gradient of external output `index`
  kVertexIds,    // out <- the vertex of each row
  // Operators that compute. out = in[0] * in[1], or += if `accumulate`; in[1]
  // is invariant, transposed if `transpose`. Further inputs are more
  // invariants: the result has their columns behind the columns of in[1].
  kMatMul,
  kWeightGrad,  // out (+)= transpose(in[0]) * in[1], a sum over rows
  kSumRows,     // out (+)= sum over rows
  kSumColumns,  // out = sum within each row
  kToMask,      // out = 1 where in[0], a boolean, is true, else 0
  kSpread,      // out <- in[vertex of each edge]
  // out = sum, or maximum, over the edges of each vertex, in their order; zero
  // without edges
  kSumEdges,
  kMaxEdges,
  kElementwise,  // out = op(in[0]) or op(in[0], in[1]), broadcasting
  kCopy,         // out = in[0]
  kZero,         // out = 0
  kGroup,        // `members`, all of them elementwise, as one kernel
  kForeign,      // any other operator, by the framework's own kernel
};

// Where the rows that a node moves into a program come from, or where the rows
// that it moves out go.
enum class Outside : uint8_t {
  kNone,         // The node moves no rows.
  kOwnState,     // The state of the node's vertices, or its gradient.
  kChildStates,  // The state of their children in slot `index`.
  kExternal,     // External input or output number `index`, or its gradient.
  kVertices,     // The ids of the vertices.
};

// Whether the output of a node is zero in rows of vertices without children.
enum class Zero : uint8_t {
  kNever,  // Not known to the table.
  kAlways,
  kKeeps,  // If all rows that the node reads are zero.
};

struct Operator {
  NodeKind kind;
  const char* name;  // In printed programs, and as the role of an argument.
  Outside outside = Outside::kNone;
  bool brings_in = false;  // Direction, if the node moves rows.
  Zero zero = Zero::kNever;
  bool sums_rows = false;  // Whether the result is a sum over all rows.
};

// Row i describes the kind with number i.
inline constexpr Operator kOperators[] = {
    {NodeKind::kGather, "gather", Outside::kChildStates, true, Zero::kAlways},
    {NodeKind::kScatter, "scatter", Outside::kOwnState},
    {NodeKind::kPull, "pull", Outside::kExternal, true},
    {NodeKind::kPush, "push", Outside::kExternal},
    {NodeKind::kScatterGrad, "scatter_grad", Outside::kOwnState, true},
    {NodeKind::kGatherGrad, "gather_grad", Outside::kChildStates},
    {NodeKind::kPullGrad, "pull_grad", Outside::kExternal},
    {NodeKind::kPushGrad, "push_grad", Outside::kExternal, true},
    {NodeKind::kVertexIds, "vertex_ids", Outside::kVertices, true},
    {NodeKind::kMatMul, "matmul", Outside::kNone, false, Zero::kKeeps},
    {NodeKind::kWeightGrad, "weight_grad", Outside::kNone, false, Zero::kNever,
     true},
    {NodeKind::kSumRows, "sum_rows", Outside::kNone, false, Zero::kNever, true},
    {NodeKind::kSumColumns, "sum_columns", Outside::kNone, false, Zero::kKeeps},
    {NodeKind::kToMask, "to_mask", Outside::kNone, false, Zero::kKeeps},
    // Vertices without children have no edges.
    {NodeKind::kSpread, "spread", Outside::kNone, false, Zero::kAlways},
    {NodeKind::kSumEdges, "sum_edges", Outside::kNone, false, Zero::kAlways},
    {NodeKind::kMaxEdges, "max_edges", Outside::kNone, false, Zero::kAlways},
    // See kElementwiseOperators in cc/ir/elementwise.h.
    {NodeKind::kElementwise, "elementwise"},
    {NodeKind::kCopy, "copy", Outside::kNone, false, Zero::kKeeps},
    {NodeKind::kZero, "zero", Outside::kNone, false, Zero::kAlways},
    {NodeKind::kGroup, "group"},
    {NodeKind::kForeign, "foreign"},
};

constexpr const Operator& RowOf(NodeKind kind) {
  return kOperators[static_cast<size_t>(kind)];
}

constexpr bool MovesRows(NodeKind kind) {
  return RowOf(kind).outside != Outside::kNone;
}
constexpr bool MovesState(NodeKind kind) {
  return RowOf(kind).outside == Outside::kOwnState ||
         RowOf(kind).outside == Outside::kChildStates;
}
// Whether Node::index is the number of a slot, input or output.
constexpr bool IsNumbered(NodeKind kind) {
  return RowOf(kind).outside == Outside::kChildStates ||
         RowOf(kind).outside == Outside::kExternal;
}
// Whether the result has a row per vertex, of rows of its edges.
constexpr bool ReducesEdges(NodeKind kind) {
  return kind == NodeKind::kSumEdges || kind == NodeKind::kMaxEdges;
}
constexpr bool SumsRows(NodeKind kind) { return RowOf(kind).sums_rows; }

// Looks up by name and returns null if there is none.
const Operator* FindOperator(std::string_view name);

}  // namespace cavs

#endif  // CAVS_CC_IR_OPERATORS_H_
