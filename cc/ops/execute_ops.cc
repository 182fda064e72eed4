#include <algorithm>
#include <string>
#include <vector>

#include "cc/ops/shape_function.h"
#include "cc/schedule/policies.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace cavs {
namespace {

using ::tensorflow::PartialTensorShape;
using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

// Returns whether the number `i` is in a list of numbers.
bool IsIn(const std::vector<int>& some, size_t i) {
  return std::find(some.begin(), some.end(), static_cast<int>(i)) != some.end();
}

// Sets the shapes of outputs from *first on, one output for each type in
// attribute `types`. Output i has the i-th shape in attribute `name`, with the
// dimension `rows` in front of it if that is given. If `of_edges` has the
// number i, that dimension is unknown instead.
absl::Status SetShapes(InferenceContext* c, const char* name, const char* types,
                       const DimensionHandle* rows, int* first,
                       const std::vector<int>& of_edges = {}) {
  std::vector<PartialTensorShape> shapes;
  std::vector<tensorflow::DataType> dtypes;
  TF_RETURN_IF_ERROR(c->GetAttr(name, &shapes));
  TF_RETURN_IF_ERROR(c->GetAttr(types, &dtypes));
  if (shapes.size() != dtypes.size()) {
    return absl::InvalidArgumentError(
        std::string(name) + ": got " + std::to_string(shapes.size()) +
        " shapes but expected " + std::to_string(dtypes.size()) +
        ", one per tensor.");
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    ShapeHandle handle;
    TF_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(shapes[i], &handle));
    if (rows != nullptr) {
      const DimensionHandle own = IsIn(of_edges, i) ? c->UnknownDim() : *rows;
      TF_RETURN_IF_ERROR(c->Concatenate(c->Vector(own), handle, &handle));
    }
    c->set_output((*first)++, handle);
  }
  return absl::OkStatus();
}

absl::Status ForwardShape(InferenceContext* c) {
  ShapeHandle order, task_splits, task_type, child_row;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &order));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &task_splits));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 1, &task_type));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(3), 2, &child_row));
  DimensionHandle num_vertices, num_splits;
  TF_RETURN_IF_ERROR(
      c->Merge(c->Dim(order, 0), c->Dim(child_row, 1), &num_vertices));
  // The task_splits of an empty schedule may be empty instead of [0].
  if (!c->ValueKnown(c->Dim(task_splits, 0)) ||
      c->Value(c->Dim(task_splits, 0)) > 0) {
    TF_RETURN_IF_ERROR(c->Add(c->Dim(task_type, 0), 1, &num_splits));
    TF_RETURN_IF_ERROR(
        c->Merge(c->Dim(task_splits, 0), num_splits, &num_splits));
  }

  std::vector<tensorflow::DataType> pulls;
  std::vector<int> capture_counts, partial, of_edges, edge_pushes;
  TF_RETURN_IF_ERROR(c->GetAttr("edge_pulls", &of_edges));
  TF_RETURN_IF_ERROR(c->GetAttr("edge_pushes", &edge_pushes));
  TF_RETURN_IF_ERROR(c->GetAttr("partial_pulls", &partial));
  TF_RETURN_IF_ERROR(c->GetAttr("Tpulls", &pulls));
  TF_RETURN_IF_ERROR(c->GetAttr("capture_counts", &capture_counts));
  const bool one_type = capture_counts.size() == 1;
  for (size_t i = 0; i < pulls.size(); ++i) {
    ShapeHandle pull;
    TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(4 + i), 1, &pull));
    // With several types, some vertices may have no row.
    if (!one_type || IsIn(partial, i) || IsIn(of_edges, i)) continue;
    TF_RETURN_IF_ERROR(c->Merge(num_vertices, c->Dim(pull, 0), &num_vertices));
  }
  int chosen;
  TF_RETURN_IF_ERROR(c->GetAttr("num_at", &chosen));
  DimensionHandle num_pushed = num_vertices;
  if (chosen > 1) {
    return absl::InvalidArgumentError(
        "at: got several tensors but expected one or none.");
  }
  if (chosen == 1) {
    ShapeHandle at;
    int edge_lists;
    TF_RETURN_IF_ERROR(c->GetAttr("num_edge_lists", &edge_lists));
    const int last =
        c->num_inputs() - edge_lists - static_cast<int>(partial.size()) - 1;
    TF_RETURN_IF_ERROR(c->WithRank(c->input(last), 1, &at));
    num_pushed = c->Dim(at, 0);
  }
  int output = 0;
  TF_RETURN_IF_ERROR(SetShapes(c, "push_shapes", "Tpushes", &num_pushed,
                               &output, edge_pushes));
  c->set_output(output, c->Scalar());
  return absl::OkStatus();
}

absl::Status BackwardShape(InferenceContext* c) {
  ShapeHandle tape;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &tape));
  DimensionHandle num_pushed = c->UnknownDim();
  std::vector<int> edge_pushes;
  TF_RETURN_IF_ERROR(c->GetAttr("edge_pushes", &edge_pushes));
  for (int i = 1; i < c->num_inputs(); ++i) {
    ShapeHandle grad;
    TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(i), 1, &grad));
    if (IsIn(edge_pushes, i - 1)) continue;
    TF_RETURN_IF_ERROR(c->Merge(num_pushed, c->Dim(grad, 0), &num_pushed));
  }
  const DimensionHandle num_pulled = c->UnknownDim();
  int output = 0;
  TF_RETURN_IF_ERROR(
      SetShapes(c, "pull_shapes", "Tpulls", &num_pulled, &output));
  return SetShapes(c, "capture_shapes", "Tcaptures", nullptr, &output);
}

absl::Status MemoryShape(InferenceContext* c) {
  c->set_output(0, c->Matrix(3, 5));
  c->set_output(1, c->Scalar());
  c->set_output(2, c->Vector(c->UnknownDim()));
  return absl::OkStatus();
}

absl::Status MicroBatchShape(InferenceContext* c) {
  c->set_output(0, c->Scalar());
  c->set_output(1, c->Scalar());
  return absl::OkStatus();
}

absl::Status RowCountShape(InferenceContext* c) {
  PartialTensorShape shape;
  TF_RETURN_IF_ERROR(c->GetAttr("shape", &shape));
  ShapeHandle handle;
  TF_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(shape, &handle));
  c->set_output(0, handle);
  return absl::OkStatus();
}

absl::Status DropoutMaskShape(InferenceContext* c) {
  PartialTensorShape shape;
  TF_RETURN_IF_ERROR(c->GetAttr("shape", &shape));
  ShapeHandle rows, seed, row, mask;
  TF_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(shape, &row));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &rows));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &seed));
  TF_RETURN_IF_ERROR(c->Concatenate(rows, row, &mask));
  c->set_output(0, mask);
  return absl::OkStatus();
}

// The ops below have lists of attributes in common, which the functions below
// add. InitOnStartupMarker registers the results of these functions, as
// REGISTER_OP does.
using Op = ::tensorflow::register_op::OpDefBuilderWrapper;
using ::tensorflow::InitOnStartupMarker;

// Adds the attributes that decide how programs are compiled: the switches of
// passes, which are on by default, the inputs of which only some vertices have
// a row, and the inputs that are zero for vertices without children.
Op& WithSwitches(Op& op) {
  op.Attr("partial_pulls: list(int) >= 0 = []")
      .Attr("partial_pull_grads: list(int) >= 0 = []")
      .Attr("child_pulls: list(int) >= 0 = []");
  for (const char* name : {"eager", "lazy", "split", "share", "merge", "fuse",
                           "skip_zeros", "specialize", "views"}) {
    op.Attr(StrCat(name, ": bool = true"));
  }
  return op;
}

// Adds the attributes that the memory of a step depends on, in addition to its
// inputs.
Op& WithStep(Op& op) {
  return WithSwitches(op.Attr("vertex_functions: list(func) >= 1")
                          .Attr("vertex_signatures: list(string) >= 1")
                          .Attr("gradient_functions: list(func) >= 0")
                          .Attr("gradient_signatures: list(string) >= 0")
                          .Attr("pull_shapes: list(shape) >= 0")
                          .Attr("push_shapes: list(shape) >= 0")
                          .Attr("capture_shapes: list(shape) >= 0")
                          .Attr("capture_grad_types: list(type) >= 0")
                          .Attr("differentiable: list(bool) >= 0")
                          .Attr("Tpulls: list(type) >= 0")
                          .Attr("Tpushes: list(type) >= 0"))
      .Attr("num_partial: int >= 0 = 0")
      .Attr("streams: int = 1");
}

const InitOnStartupMarker kForward =
    InitOnStartupMarker{}
    << WithSwitches(Op("CavsForward")
                        .Input("order: int32")
                        .Input("task_splits: int32")
                        .Input("task_type: int32")
                        .Input("child_row: int32")
                        .Input("pulls: Tpulls")
                        .Input("captures: Tcaptures")
                        .Input("at: num_at * int32")
                        .Input("partial_vertices: num_partial * int32")
                        .Input("edges: num_edge_lists * int32")
                        .Output("pushes: Tpushes")
                        .Output("tape: variant")
                        .Attr("vertex_functions: list(func) >= 1")
                        .Attr("vertex_signatures: list(string) >= 1")
                        .Attr("gradient_functions: list(func) >= 0")
                        .Attr("gradient_signatures: list(string) >= 0")
                        .Attr("capture_counts: list(int) >= 1")
                        .Attr("pull_shapes: list(shape) >= 0")
                        .Attr("push_shapes: list(shape) >= 0")
                        .Attr("capture_shapes: list(shape) >= 0")
                        .Attr("capture_grad_types: list(type) >= 0")
                        .Attr("differentiable: list(bool) >= 0")
                        .Attr("gradient_error: string = ''")
                        .Attr("pulled_by: list(bool) >= 0")
                        .Attr("Tpulls: list(type) >= 0")
                        .Attr("Tcaptures: list(type) >= 0")
                        .Attr("Tpushes: list(type) >= 0")
                        .Attr("num_at: int >= 0 = 0")
                        .Attr("num_partial: int >= 0 = 0")
                        .Attr("num_edge_lists: int >= 0 = 0")
                        .Attr("edge_pulls: list(int) >= 0 = []")
                        .Attr("edge_pushes: list(int) >= 0 = []")
                        .Attr("keep_tape: bool = false"))
           .Attr("streams: int = 1")
           .SetShapeFn(NoThrowShape<ForwardShape>)
           .Doc(R"doc(
Evaluates a vertex function for every vertex of a minibatch of graphs.

The scheduler of Cavs (arXiv:1712.04048, Algorithm 1): operators that depend on no
gathered state run once over all V rows (eager), those between gather and scatter
task by task, and those that no scattered state depends on once over all rows again
(lazy). Not meant to be called by hand: `cavs_tf.GraphSupport` traces the functions
and writes their signatures, which give the role and number of every argument and
result, "vertex_ids,gather:0,pull:0,capture:0->scatter,push:0".

order: [V], from CavsSchedule; so are the next three.
task_splits: [T + 1].
task_type: [T].
child_row: [arity, V].
pulls: External inputs, in vertex order, [V, ...] each or [n, ...]: with rows only for
  the n vertices of types that pull it.
captures: Captured tensors of the vertex functions (weights), those of type 0 first.
at: [n], the distinct vertices whose pushes are wanted. None: all.
partial_vertices: For each of partial_pulls, [n]: the distinct vertices that have its rows.
edges: As CavsSchedule returns them, if functions read edges.
pushes: External outputs, [n] + push_shapes[i], row i of vertex at[i]; or [V] + ..., in
  vertex order; or [E] + ..., in the order of edges.
tape: Scalar. The values that CavsBackward reads; empty unless keep_tape.
vertex_functions: One traced function per vertex type.
vertex_signatures: Their signatures.
gradient_functions: Their derivatives; like the next five, for the gradient of this op.
gradient_signatures: The signatures of the derivatives.
capture_shapes: The shape of each capture's gradient.
capture_grad_types: The type of each capture's gradient.
differentiable: Whether each capture has a gradient.
gradient_error: Why there are no derivatives; empty if there are.
capture_counts: The number of captures of each function.
pull_shapes: The shape of one row of each pull.
push_shapes: The shape of one row of each push.
pulled_by: For each pull, whether vertex function 0, 1, ... pulls it.
num_at: The number of tensors in `at`, 0 or 1.
partial_pulls: The pulls that not every vertex has a row of; others pull zeros.
partial_pull_grads: The numbers of their gradients among those of floating-point pulls.
child_pulls: The pulls that are zero for vertices without children. Those of booleans are true for
  vertices with a child in every slot.
num_edge_lists: The number of tensors in `edges`, 0 or 3.
edge_pulls: The pulls that have a row for each edge instead of each vertex.
edge_pushes: The pushes that have one, whatever vertices `at` names.
keep_tape: Whether a CavsBackward follows.
eager: Off, eager operators run task by task (for ablation).
lazy: Off, lazy operators run task by task (for ablation).
split: Off, products of concatenations stay whole (for ablation).
share: Off, equal operators are computed several times (for ablation).
merge: Off, products stay as they were traced (for ablation).
fuse: Off, elementwise operators run one by one (for ablation).
skip_zeros: Off, leaves multiply the zeros that they gather (for ablation).
specialize: Off, leaves run the program of other vertices (for ablation).
views: Off, gathered and pulled rows are copied before they are read (for ablation).
streams: 2: eager and lazy operators run beside the critical ones.
)doc");

const InitOnStartupMarker kBackward =
    InitOnStartupMarker{}
    << WithSwitches(Op("CavsBackward")
                        .Input("tape: variant")
                        .Input("push_grads: Tpushes")
                        .Output("pull_grads: Tpulls")
                        .Output("capture_grads: Tcaptures")
                        .Attr("vertex_functions: list(func) >= 0 = []")
                        .Attr("vertex_signatures: list(string) >= 0 = []")
                        .Attr("gradient_functions: list(func) >= 1")
                        .Attr("gradient_signatures: list(string) >= 1")
                        .Attr("capture_counts: list(int) >= 1")
                        .Attr("pulls: list(int) >= 0")
                        .Attr("pull_shapes: list(shape) >= 0")
                        .Attr("edge_pushes: list(int) >= 0 = []")
                        .Attr("capture_shapes: list(shape) >= 0")
                        .Attr("Tpushes: list(type) >= 0")
                        .Attr("Tpulls: list(type) >= 0")
                        .Attr("Tcaptures: list(type) >= 0"))
           .Attr("streams: int = 1")
           .SetShapeFn(NoThrowShape<BackwardShape>)
           .Doc(R"doc(
The gradient of CavsForward: runs its tasks in reverse with the derivatives of
the vertex functions. Weight gradients are lazy: one sum over all rows.

tape: From CavsForward with keep_tape. Any number of CavsBackward may read it.
push_grads: The gradient of every push.
pull_grads: The gradient of every floating-point pull.
capture_grads: The gradient of every floating-point capture, dense.
vertex_functions: Those of the CavsForward. Without them it must not specialize.
vertex_signatures: Of each.
gradient_functions: One traced derivative per vertex type.
gradient_signatures: Their signatures.
capture_counts: The number of floating-point captures of each vertex function.
pulls: Which of the pulls are floating-point.
pull_shapes: The shape of one row of each floating-point pull.
edge_pushes: As in CavsForward.
capture_shapes: The shape of each floating-point capture.
partial_pulls: As in CavsForward, and so is all that follows.
eager: As in CavsForward.
lazy: As in CavsForward.
split: As in CavsForward.
share: As in CavsForward.
merge: As in CavsForward.
fuse: As in CavsForward.
skip_zeros: As in CavsForward.
specialize: As in CavsForward.
views: As in CavsForward.
streams: As in CavsForward.
)doc");

// CavsDescribe, CavsMemory and CavsMicroBatch are stateful so that TensorFlow
// does not fold them. To fold an op, TensorFlow makes its kernel without the
// functions of the graph.

const InitOnStartupMarker kDescribe =
    InitOnStartupMarker{}
    << WithSwitches(Op("CavsDescribe")
                        .Output("description: string")
                        .Attr("vertex_functions: list(func) >= 1")
                        .Attr("vertex_signatures: list(string) >= 1")
                        .Attr("gradient_functions: list(func) >= 0 = []")
                        .Attr("gradient_signatures: list(string) >= 0 = []"))
           .SetIsStateful()
           .SetShapeFn(::tensorflow::shape_inference::ScalarShape)
           .Doc(R"doc(
Describes as JSON how CavsForward or CavsBackward runs functions on the device of this op: for
each of them the nodes in the order in which they run, and the program as text. With derivatives, these
follow. `variants` describes likewise the programs for tasks with some `traits`, which is
a sum of bits: see cc/schedule/traits.h.

A node is {name, op, kind, stage, native, gpus_run, index, label, adds, merged, members}: `native`
is set if a kernel of ours runs it on the device of this op, and `gpus_run` if one does on GPUs; its
label says in words what it computes; `adds` is set if it adds to values in memory;
`merged` names the products that were merged into this one. An operator, that is a
node or, in place of a fused group, each of its members, has an `id` too, and in
`after` the ids of the operators that it reads from or adds to.

description: Scalar.
vertex_functions: Traced vertex functions, or derivatives.
vertex_signatures: Their signatures.
gradient_functions: If vertex functions are given: one traced derivative for each, or none.
gradient_signatures: Their signatures.
)doc");

const InitOnStartupMarker kInstructionSet =
    InitOnStartupMarker{}
    << Op("CavsInstructionSet")
           .Output("name: string")
           .SetIsStateful()  // Not folded: another machine may run it.
           .SetShapeFn(::tensorflow::shape_inference::ScalarShape)
           .Doc(R"doc(
Names the instruction set that the kernels of this machine use.

name: Scalar, "portable", "avx2", "avx512" or "avx512bf16".
)doc");

const InitOnStartupMarker kCudaReport =
    InitOnStartupMarker{}
    << Op("CavsCudaReport")
           .Output("lines: string")
           .SetIsStateful()  // Not folded: another machine may run it.
           .SetShapeFn([](::tensorflow::shape_inference::InferenceContext* c) {
             c->set_output(0, c->UnknownShapeOfRank(1));
             return absl::OkStatus();
           })
           .Doc(R"doc(
Says what kernels of GPUs need, and what of it this machine has.

lines: "name: what was found", or what is missing and what to do about it.
)doc");

const InitOnStartupMarker kMemory =
    InitOnStartupMarker{} << WithStep(Op("CavsMemory")
                                          .Input("order: int32")
                                          .Input("task_splits: int32")
                                          .Input("task_type: int32")
                                          .Input("child_row: int32")
                                          .Input("pulled_rows: int64")
                                          .Input("pushed_rows: int64")
                                          .Input("partial_vertices: "
                                                 "num_partial * int32")
                                          .Input("edges: num_edge_lists * "
                                                 "int32")
                                          .Output("bytes: int64")
                                          .Output("training: int64")
                                          .Output("task_traits: int32")
                                          .Attr("num_edge_lists: int >= 0 = "
                                                "0"))
                                 .SetIsStateful()
                                 .SetShapeFn(NoThrowShape<MemoryShape>)
                                 .Doc(R"doc(
Predicts the memory that CavsForward and CavsBackward take on the device of this op.

order: [V], from CavsSchedule; so are the next three.
task_splits: [T + 1].
task_type: [T].
child_row: [arity, V].
pulled_rows: The number of rows of each input; -1: one per vertex.
pushed_rows: The number of vertices whose outputs are wanted; -1: all.
partial_vertices: As in CavsForward.
edges: As in CavsForward.
bytes: For each direction (forward, backward, forward without a tape), the bytes of the
  state or its gradient, the tape beside it, temporaries, packed weights, and results.
training: The peak of a training step in bytes.
task_traits: [T]. The traits of the variant of CavsDescribe that evaluates each task of a training
  step, if all numbers are finite; 0: the program of the task's vertex type.
vertex_functions: Traced vertex functions.
vertex_signatures: Their signatures.
gradient_functions: Their derivatives; if there are none, backward takes no bytes.
gradient_signatures: The signatures of the derivatives.
pull_shapes: As in CavsForward, and so are the next six.
)doc");

const InitOnStartupMarker kMicroBatch =
    InitOnStartupMarker{} << WithStep(
                                 Op("CavsMicroBatch")
                                     .Input("child_splits: int32")
                                     .Input("child_ids: int32")
                                     .Input("graph_splits: int32")
                                     .Input("vertex_type: int32")
                                     .Input("pulled_rows: int64")
                                     .Input("pushed_rows: int64")
                                     .Input("available: int64")
                                     .Input("partial_vertices: "
                                            "num_partial * int32")
                                     .Output("micro_batch: int32")
                                     .Output("whole_bytes: int64")
                                     .Attr("arity: int >= 0")
                                     .Attr(StrCat("policy: {", PolicyNames(),
                                                  "} = '", Policies()[0].name,
                                                  "'")))
                                 .SetIsStateful()
                                 .SetShapeFn(NoThrowShape<MicroBatchShape>)
                                 .Doc(R"doc(
Chooses how many graphs run at a time, so that a training step fits into memory.

It takes the fewest micro-batches of equal size with which a training step takes, as
CavsMemory says, at most `available` bytes. If no number of them suffices, each graph
is a micro-batch.

child_splits: As in CavsSchedule, and so are the next three.
pulled_rows: As in CavsMemory.
pushed_rows: As in CavsMemory.
available: Scalar. Bytes that a training step may take.
partial_vertices: As in CavsForward.
micro_batch: Scalar. The number of graphs that run at a time, at least 1.
whole_bytes: Scalar. The bytes of a training step with all graphs at a time.
arity: As in CavsSchedule.
policy: As in CavsSchedule.
vertex_functions: As in CavsMemory, and so is all that follows.
)doc");

}  // namespace

REGISTER_OP("CavsAvailableMemory")
    .Output("bytes: int64")
    .SetIsStateful()
    .SetShapeFn(::tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
The memory that the op's device can still provide: on the CPU, the system, or the container of the
process; on a GPU, TensorFlow's allocator.

bytes: Scalar; the largest integer if it is unknown.
)doc");

REGISTER_OP("CavsRowCount")
    .Input("like: T")
    .Output("value: out_type")
    .Attr("T: type")
    .Attr("out_type: {int32, int64}")
    .Attr("scale: list(int) >= 0")
    .Attr("bias: list(int) >= 0")
    .Attr("shape: shape")
    .SetShapeFn(NoThrowShape<RowCountShape>)
    .Doc(R"doc(
Integers that are affine in a number of rows: scale * shape(like)[0] + bias. Replaces
integers that a traced vertex function computed from tensor shapes.

like: [rows, ...].
value: Of the given shape, row-major.
)doc");

REGISTER_OP("CavsDropoutMask")
    .Input("rows: int32")
    .Input("seed: int64")
    .Output("mask: T")
    .Attr("T: {float, double, bfloat16, half}")
    .Attr("shape: shape")
    .Attr("rate: float")
    .Attr("number: int >= 0 = 0")
    .SetShapeFn(NoThrowShape<DropoutMaskShape>)
    .Doc(R"doc(
What dropout multiplies rows with: 0 with probability `rate`, else 1 / (1 - rate). Every row of
it follows from the seed, the number of the operator, and the number of the row, whatever
other rows there are.

rows: [rows], the number of each row.
seed: [2]; the lower 32 bits of each count.
mask: [rows, ...].
shape: Of a row.
rate: In [0, 1).
number: Operators with different numbers draw independently.
)doc");

}  // namespace cavs
