#include "cc/ops/shape_function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace cavs {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status AbsoluteChildrenShape(InferenceContext* c) {
  for (int i = 0; i < 3; ++i) {
    ShapeHandle vector;
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 1, &vector));
    c->set_output(i, vector);
  }
  return absl::OkStatus();
}

absl::Status ChildMaskShape(InferenceContext* c) {
  ShapeHandle splits, ids;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &splits));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &ids));
  int arity;
  TF_RETURN_IF_ERROR(c->GetAttr("arity", &arity));
  // Empty splits mean that there are no vertices.
  const DimensionHandle size = c->Dim(splits, 0);
  DimensionHandle num_vertices = c->UnknownDim();
  if (c->ValueKnown(size)) {
    num_vertices = c->MakeDim(c->Value(size) == 0 ? 0 : c->Value(size) - 1);
  }
  c->set_output(0, c->Matrix(num_vertices, c->MakeDim(arity)));
  return absl::OkStatus();
}

absl::Status CheckedRowsShape(InferenceContext* c) {
  for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->input(i));
  return absl::OkStatus();
}

absl::Status CheckedExampleShape(InferenceContext* c) {
  tensorflow::shape_inference::ShapeHandle error;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &error));
  for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->input(i + 1));
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("CavsAbsoluteChildren")
    .Input("child_splits: Tsplits")
    .Input("child_ids: int32")
    .Input("graph_splits: Tsplits")
    .Output("absolute_child_splits: int32")
    .Output("absolute_child_ids: int32")
    .Output("absolute_graph_splits: int32")
    .Attr("Tsplits: {int32, int64}")
    .SetShapeFn(NoThrowShape<AbsoluteChildrenShape>)
    .Doc(R"doc(
Makes child ids that are relative to their graph absolute, as CavsSchedule takes them.

What is not valid stays as it is, for CavsSchedule to reject it: negative ids, the largest int32, and
all ids if splits do not ascend.

child_splits: [V + 1]. Vertex v has the children child_ids[child_splits[v]:child_splits[v + 1]].
child_ids: [E].
graph_splits: [B + 1]. Graph g owns vertices [graph_splits[g], graph_splits[g + 1]).
absolute_child_splits: The same as int32; those that do not fit are the nearest int32.
absolute_child_ids: [E].
absolute_graph_splits: The same as int32.
)doc");

REGISTER_OP("CavsChildMask")
    .Input("child_splits: int32")
    .Input("child_ids: int32")
    .Output("mask: bool")
    .Attr("arity: int >= 0")
    .SetShapeFn(NoThrowShape<ChildMaskShape>)
    .Doc(R"doc(
Says which slots of each vertex have a child. Graphs are checked by CavsSchedule, not here.

child_splits: [V + 1]. Vertex v has the children child_ids[child_splits[v]:child_splits[v + 1]].
child_ids: [E], or negative for a missing child.
mask: [V, arity].
)doc");

REGISTER_OP("CavsCheckedRows")
    .Input("features: T")
    .Input("splits: N * int64")
    .Input("expected: N * int64")
    .Output("checked: T")
    .Attr("T: list(type) >= 1")
    .Attr("N: int >= 1")
    .Attr("names: list(string)")
    .Attr("rows_of: list(string)")
    .Attr("advice: list(string)")
    .SetShapeFn(NoThrowShape<CheckedRowsShape>)
    .Doc(R"doc(
Returns features if each example has as many rows of them as it should.

Fails with InvalidArgument otherwise, naming the feature and the example.

features: N features of all examples.
splits: For each feature, the splits of its rows between the examples.
expected: For each feature, splits with the right numbers of rows.
checked: The features.
names, rows_of, advice: For each feature its name, what it has one row of, and what to do if it has
  another number.
)doc");

REGISTER_OP("CavsCheckedExample")
    .Input("error: string")
    .Input("features: T")
    .Output("checked: T")
    .Attr("T: list(type) >= 1")
    .SetShapeFn(NoThrowShape<CheckedExampleShape>)
    .Doc(R"doc(
Returns the features of an example, or fails with InvalidArgument if it could not be read.

error: A scalar: what went wrong; empty if nothing did.
features: Tensors.
checked: The features.
)doc");

}  // namespace cavs
