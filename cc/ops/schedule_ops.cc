#include "cc/ops/shape_function.h"
#include "cc/schedule/policies.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace cavs {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status ScheduleShape(InferenceContext* c) {
  ShapeHandle child_splits, child_ids, graph_splits, vertex_type;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &child_splits));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &child_ids));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 1, &graph_splits));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(3), 1, &vertex_type));
  ShapeHandle micro_batch;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(4), 0, &micro_batch));

  DimensionHandle num_vertices;
  // An empty child_splits means that there are no vertices.
  const DimensionHandle num_splits = c->Dim(child_splits, 0);
  if (c->ValueKnown(num_splits) && c->Value(num_splits) == 0) {
    num_vertices = c->MakeDim(0);
  } else {
    TF_RETURN_IF_ERROR(c->Subtract(num_splits, 1, &num_vertices));
  }
  // An empty vertex_type means that all vertices are of type 0.
  const DimensionHandle num_typed = c->Dim(vertex_type, 0);
  if (c->ValueKnown(num_typed) && c->Value(num_typed) > 0) {
    TF_RETURN_IF_ERROR(c->Merge(num_vertices, num_typed, &num_vertices));
  }

  int arity;
  TF_RETURN_IF_ERROR(c->GetAttr("arity", &arity));
  c->set_output(0, c->Vector(num_vertices));
  c->set_output(1, c->Vector(InferenceContext::kUnknownDim));
  c->set_output(2, c->Vector(InferenceContext::kUnknownDim));
  c->set_output(3, c->Matrix(arity, num_vertices));
  for (int i = 4; i < c->num_outputs(); ++i) {
    c->set_output(i, c->Vector(InferenceContext::kUnknownDim));
  }
  return absl::OkStatus();
}

absl::Status ExtendShape(InferenceContext* c) {
  ShapeHandle child_splits, child_ids, vertex_type, num_states;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &child_splits));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &child_ids));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 1, &vertex_type));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(3), 0, &num_states));
  for (int i = 0; i < c->num_outputs(); ++i) {
    c->set_output(i, c->Vector(InferenceContext::kUnknownDim));
  }
  c->set_output(2, child_ids);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("CavsSchedule")
    .Input("child_splits: int32")
    .Input("child_ids: int32")
    .Input("graph_splits: int32")
    .Input("vertex_type: int32")
    .Input("micro_batch: int32")
    .Output("order: int32")
    .Output("task_splits: int32")
    .Output("task_type: int32")
    .Output("child_row: int32")
    .Output("edges: num_edge_lists * int32")
    .Attr("arity: int >= 0")
    .Attr("num_edge_lists: int >= 0 = 0")
    .Attr("num_types: int >= 1 = 1")
    .Attr(StrCat("policy: {", PolicyNames(), "} = '", Policies()[0].name, "'")
              .c_str())
    .SetShapeFn(NoThrowShape<ScheduleShape>)
    .Doc(R"doc(
Plans which vertices of a minibatch of graphs are evaluated together.

The graphs have V vertices and E child slots in total. A task is a set of vertices
of one type that do not depend on each other; the T tasks are evaluated one after
the other, each as one batch. Rows number the vertices in the order in which tasks
evaluate them, so that a task is a range of rows, and the rows of all children of a
task precede it.

With policy "depth" (Cavs, arXiv:1712.04048, section 3.2), level d is the vertices
of depth d: 0 without children, else 1 + the depth of the deepest child. Each vertex
type in a level is a task, types ascending. With policy "ratio", each task takes all
vertices of one type whose children are evaluated: of the type for which these are
the largest fraction of its frontier, the vertices that do not depend on an
unevaluated one of their own type. Where "depth" has fewer tasks, they are those of
"depth"; with one type they are always. With policy "serial", every task is one
vertex, in the order of "depth": nothing is batched.

Within a task, rows stand in the order in which later tasks gather them: in chains
of any lengths and in complete trees, the rows that a task gathers through one slot
are consecutive.

For the tree 2 -> (0, 1) and arity 2:

    child_splits = [0, 0, 0, 2], child_ids = [0, 1], graph_splits = [0, 3]
    order = [0, 1, 2], task_splits = [0, 2, 3], task_type = [0, 0]
    child_row = [[-1, -1, 0], [-1, -1, 1]]

Fails with InvalidArgument, naming graph, vertex and slot, if splits do not ascend
from 0 to the size of what they split, an id is out of range, a child is in another
graph, a vertex depends on itself, or has more than `arity` children, or a type is
outside [0, num_types).

child_splits: [V + 1], ascending. Vertex v has the children
  child_ids[child_splits[v]:child_splits[v + 1]]; the position among them is the slot.
child_ids: [E], absolute vertex ids in [0, V), or -1 for an explicitly missing child.
graph_splits: [B + 1], ascending. Graph g owns vertices
  [graph_splits[g], graph_splits[g + 1]).
vertex_type: [V], in [0, num_types), or [0]: all vertices are of type 0.
micro_batch: At least 1. So many consecutive graphs at a time are planned as if they
  were alone; their rows and tasks precede those of the next. As many as there are
  graphs, or more: the whole minibatch.
order: [V], a permutation. The vertex of each row.
task_splits: [T + 1]. Task t evaluates rows [task_splits[t], task_splits[t + 1]).
task_type: [T], the type of the vertices of each task.
child_row: [arity, V]. The row of the child in each slot of each row's vertex, or -1:
  no child, which gathers zeros.
edges: With num_edge_lists 3: edge_splits [V + 1], the edges of each row, from its vertex to
  its children in their order; edge_child [E], the row of each edge's child; and
  edge_number [E], the number of each edge if missing children are not counted. A
  vertex may then have more than `arity` children.
arity: Number of slots that the vertex function gathers from.
num_edge_lists: 0 or 3.
num_types: Number of vertex functions.
policy: How tasks are chosen.
)doc");

REGISTER_OP("CavsExtend")
    .Input("child_splits: int32")
    .Input("child_ids: int32")
    .Input("vertex_type: int32")
    .Input("num_states: int32")
    .Output("read: int32")
    .Output("graph_child_splits: int32")
    .Output("graph_child_ids: int32")
    .Output("graph_vertex_type: int32")
    .Attr("arity: int >= -1")
    .Attr("num_types: int >= 1 = 1")
    .SetShapeFn(NoThrowShape<ExtendShape>)
    .Doc(R"doc(
Makes a graph of m new vertices and of those that were computed before and are their children.

Its vertices are the new ones, [0, m), and, without children, the k whose states they gather,
[m, m + k). It takes no longer if there are more states.

For a new vertex 0 with states 7 and 2 as children, over 8 states:

    child_splits = [0, 2], child_ids = [7, 2], num_states = 8
    read = [2, 7], graph_child_splits = [0, 2, 2, 2], graph_child_ids = [2, 1]
    graph_vertex_type = [0, 1, 1]

Fails with InvalidArgument, naming vertex and slot, if splits do not ascend from 0 to the number of
ids, an id is out of range, a vertex has more than `arity` children, or a type is outside
[0, num_types). Cycles are rejected by CavsSchedule.

child_splits: [m + 1], ascending. New vertex i has the children
  child_ids[child_splits[i]:child_splits[i + 1]]; the position among them is the slot.
child_ids: [E]. An id below num_states is a row of the states, num_states + i is new vertex i, and -1
  is an explicitly missing child.
vertex_type: [m], in [0, num_types), or [0]: all new vertices are of type 0.
num_states: How many states there are.
read: [k], ascending: the rows of the states that are gathered.
graph_child_splits: [m + k + 1].
graph_child_ids: [E], vertices of the graph in [0, m + k), or -1.
graph_vertex_type: [m + k]: those of new vertices, then num_types.
arity: Number of slots that the vertex function gathers from; -1: any number.
num_types: Number of vertex functions.
)doc");

}  // namespace cavs
