#include "cc/ops/shape_function.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace cavs {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

// The output has the shape of input 0 but as many rows as input 1.
absl::Status GatherShape(InferenceContext* c) {
  ShapeHandle table, rows, row, output;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), 1, &table));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &rows));
  TF_RETURN_IF_ERROR(c->Subshape(table, 1, &row));
  TF_RETURN_IF_ERROR(c->Concatenate(rows, row, &output));
  c->set_output(0, output);
  return absl::OkStatus();
}

// The output has the shape of input 0 but as many rows as input 2 says.
absl::Status ScatterShape(InferenceContext* c) {
  ShapeHandle values, rows, row, unused, output;
  DimensionHandle count, num_rows;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), 1, &values));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &rows));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 0, &unused));
  TF_RETURN_IF_ERROR(c->Merge(c->Dim(values, 0), c->Dim(rows, 0), &count));
  TF_RETURN_IF_ERROR(c->MakeDimForScalarInput(2, &num_rows));
  TF_RETURN_IF_ERROR(c->Subshape(values, 1, &row));
  TF_RETURN_IF_ERROR(c->Concatenate(c->Vector(num_rows), row, &output));
  c->set_output(0, output);
  return absl::OkStatus();
}

// The output has the shape of input 0, and as many rows as input 1 has indices.
absl::Status PushShape(InferenceContext* c) {
  ShapeHandle rows, order;
  DimensionHandle count;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(0), 1, &rows));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &order));
  TF_RETURN_IF_ERROR(c->Merge(c->Dim(rows, 0), c->Dim(order, 0), &count));
  TF_RETURN_IF_ERROR(c->ReplaceDim(rows, 0, count, &rows));
  c->set_output(0, rows);
  return absl::OkStatus();
}

// The output has a row of the table for each id.
absl::Status LookUpShape(InferenceContext* c) {
  ShapeHandle table = c->UnknownShape(), row, output;
  const auto* handles = c->input_handle_shapes_and_types(0);
  if (handles != nullptr && !handles->empty()) table = (*handles)[0].shape;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(table, 1, &table));
  TF_RETURN_IF_ERROR(c->Subshape(table, 1, &row));
  TF_RETURN_IF_ERROR(c->Concatenate(c->input(1), row, &output));
  c->set_output(0, output);
  return absl::OkStatus();
}

// The outputs have one row per different id. Their number is unknown before the
// op runs.
absl::Status LookUpGradShape(InferenceContext* c) {
  ShapeHandle grad, row;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(
      c->input(1), c->RankKnown(c->input(0)) ? c->Rank(c->input(0)) : 0,
      &grad));
  c->set_output(0, c->UnknownShape());
  if (c->RankKnown(c->input(0))) {
    TF_RETURN_IF_ERROR(c->Subshape(grad, c->Rank(c->input(0)), &row));
    TF_RETURN_IF_ERROR(
        c->Concatenate(c->Vector(InferenceContext::kUnknownDim), row, &row));
    c->set_output(0, row);
  }
  c->set_output(1, c->Vector(InferenceContext::kUnknownDim));
  return absl::OkStatus();
}

// Each output has as many rows as there are ids with a row.
absl::Status PresentShape(InferenceContext* c) {
  ShapeHandle ids;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &ids));
  const DimensionHandle present = c->UnknownDim();
  c->set_output(0, c->Vector(present));
  c->set_output(1, c->Vector(present));
  return absl::OkStatus();
}

absl::Status CrossEntropyShape(InferenceContext* c) {
  ShapeHandle logits, labels;
  DimensionHandle rows;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 2, &logits));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &labels));
  TF_RETURN_IF_ERROR(c->Merge(c->Dim(logits, 0), c->Dim(labels, 0), &rows));
  TF_RETURN_IF_ERROR(c->ReplaceDim(logits, 0, rows, &logits));
  c->set_output(0, c->Vector(rows));
  c->set_output(1, logits);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("CavsLookUp")
    .Input("table: resource")
    .Input("ids: Tids")
    .Output("rows: dtype")
    .Attr("dtype: {float, double, bfloat16, half}")
    .Attr("Tids: {int32, int64}")
    .SetShapeFn(NoThrowShape<LookUpShape>)
    .Doc(R"doc(
Copies rows of a variable.

table: The variable, [R, ...].
ids: Rows in [0, R), of any shape.
rows: The shape of ids and then that of a row.
)doc");

REGISTER_OP("CavsLookUpGrad")
    .Input("ids: Tids")
    .Input("grad: T")
    .Output("sums: T")
    .Output("rows: Tids")
    .Attr("T: {float, double, bfloat16, half}")
    .Attr("Tids: {int32, int64}")
    .SetShapeFn(NoThrowShape<LookUpGradShape>)
    .Doc(R"doc(
Adds up the gradients of rows of a variable that were looked up more than once.

ids: Rows of the variable, of any shape.
grad: The shape of ids and then that of a row.
sums: [n, ...], the gradient of each row, added in the order of ids.
rows: [n], the different ids, sorted.
)doc");

REGISTER_OP("CavsPresent")
    .Input("ids: Tids")
    .Output("present: Tids")
    .Output("vertices: int32")
    .Attr("mask_negative: bool")
    .Attr("masked: list(int)")
    .Attr("Tids: {int32, int64}")
    .SetShapeFn(NoThrowShape<PresentShape>)
    .Doc(R"doc(
Finds the vertices that have an id.

ids: [V].
present: [n], those of the ids that are not masked.
vertices: [n], where they are in ids.
mask_negative: Whether a negative id means that there is none.
masked: Other ids that mean it.
)doc");

REGISTER_OP("CavsCrossEntropy")
    .Input("logits: T")
    .Input("labels: Tlabels")
    .Output("loss: T")
    .Output("gradient: T")
    .Attr("T: {float, double}")
    .Attr("Tlabels: {int32, int64}")
    .SetShapeFn(NoThrowShape<CrossEntropyShape>)
    .Doc(R"doc(
The cross entropy of the softmax of each row, and its gradient.

logits: [rows, classes].
labels: [rows], the class of each row, in [0, classes).
loss: [rows], -log softmax(logits)[labels].
gradient: [rows, classes], softmax(logits) minus 1 at the label.
)doc");

REGISTER_OP("CavsCrossEntropyGrad")
    .Input("gradient: T")
    .Input("grad: T")
    .Output("product: T")
    .Attr("T: {float, double}")
    .SetShapeFn(NoThrowShape<PushShape>)
    .Doc(R"doc(
Multiplies the gradient of each loss by that of what is computed from it.

gradient: [rows, classes], of CavsCrossEntropy.
grad: [rows], of the losses.
product: [rows, classes].
)doc");

REGISTER_OP("CavsGather")
    .Input("state: T")
    .Input("child_row: int32")
    .Output("gathered: T")
    .Attr("T: {float, double, int32, int64, bfloat16, half}")
    .SetShapeFn(NoThrowShape<GatherShape>)
    .Doc(R"doc(
Collects one child's state for every vertex of a task.

gathered[i] = state[child_row[i]], or zeros where child_row[i] is -1 (no child). Its
gradient is CavsScatter.

state: [V, ...], one row per vertex.
child_row: [M], in [-1, V).
gathered: [M, ...].
)doc");

REGISTER_OP("CavsScatter")
    .Input("values: T")
    .Input("child_row: int32")
    .Input("num_rows: int32")
    .Output("state: T")
    .Attr("T: {float, double, int32, int64, bfloat16, half}")
    .SetShapeFn(NoThrowShape<ScatterShape>)
    .Doc(R"doc(
Adds rows into the rows of children, in order: the reverse of CavsGather.

state starts as zeros; state[child_row[i]] += values[i] for i = 0, 1, ... so that the
sum is the same from run to run; rows with -1 are skipped. Its gradient is
CavsGather.

values: [M, ...].
child_row: [M], in [-1, num_rows). May repeat.
num_rows: Scalar, V.
state: [V, ...].
)doc");

REGISTER_OP("CavsScatterMax")
    .Input("values: T")
    .Input("child_row: int32")
    .Input("num_rows: int32")
    .Output("state: T")
    .Attr("T: {float, double, bfloat16, half}")
    .SetShapeFn(NoThrowShape<ScatterShape>)
    .Doc(R"doc(
The maximum of rows with the same number.

state[r] is the maximum of the values[i] with child_row[i] = r, element by element, and
zeros if there are none.

values: [M, ...].
child_row: [M], in [-1, num_rows). May repeat; rows with -1 are skipped.
num_rows: Scalar, V.
state: [V, ...].
)doc");

REGISTER_OP("CavsPull")
    .Input("input: T")
    .Input("order: int32")
    .Output("rows: T")
    .Attr("T: type")
    .SetShapeFn(NoThrowShape<GatherShape>)
    .Doc(R"doc(
Brings rows of an external input into execution order: rows[i] = input[order[i]].

Its gradient is CavsPush.

input: [V, ...], in vertex order.
order: [V], a permutation of [0, V), from CavsSchedule.
rows: [V, ...].
)doc");

REGISTER_OP("CavsPush")
    .Input("rows: T")
    .Input("order: int32")
    .Output("output: T")
    .Attr("T: type")
    .SetShapeFn(NoThrowShape<PushShape>)
    .Doc(R"doc(
Brings rows back into vertex order: output[order[i]] = rows[i].

The reverse of CavsPull, which is its gradient.

rows: [V, ...], in execution order.
order: [V], a permutation of [0, V), from CavsSchedule.
output: [V, ...].
)doc");

}  // namespace cavs
