#include "cc/ops/shape_function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace cavs {
namespace {

absl::Status NoOutput(tensorflow::shape_inference::InferenceContext*) {
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("CavsAdam")
    .Input("var: N * resource")
    .Input("m: N * resource")
    .Input("v: N * resource")
    .Input("rate: double")
    .Input("steps: int64")
    .Input("beta1: double")
    .Input("beta2: double")
    .Input("epsilon: double")
    .Input("grads: N * T")
    .Attr("T: {float, double, bfloat16, half}")
    .Attr("N: int >= 1")
    .SetShapeFn(NoThrowShape<NoOutput>)
    .Doc(R"doc(
Updates variables as Adam does: m += (g - m) (1 - beta1), v += (g g - v) (1 - beta2),
var -= rate c m / (sqrt(v) + epsilon), where g is the gradient and
c = sqrt(1 - beta2^(steps + 1)) / (1 - beta1^(steps + 1)) corrects the bias of the moments.

var, m, v: The variables and their moments; those of one variable have one shape.
rate: The learning rate.
steps: How many steps there were before this one.
grads: The gradients, of the shapes of the variables.
)doc");

REGISTER_OP("CavsLazyAdam")
    .Input("var: resource")
    .Input("m: resource")
    .Input("v: resource")
    .Input("rate: double")
    .Input("steps: int64")
    .Input("beta1: double")
    .Input("beta2: double")
    .Input("epsilon: double")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr("T: {float, double, bfloat16, half}")
    .Attr("Tindices: {int32, int64}")
    .SetShapeFn(NoThrowShape<NoOutput>)
    .Doc(R"doc(
Updates those rows of a variable that have a gradient, as Adam does: m += (g - m) (1 - beta1),
v += (g g - v) (1 - beta2), var -= rate c m / (sqrt(v) + epsilon), where g is the sum of the
gradients of a row and c = sqrt(1 - beta2^(steps + 1)) / (1 - beta1^(steps + 1)) corrects the bias
of the moments.

var, m, v: The variable and its moments, of one shape [rows, ...] and type.
rate: The learning rate.
steps: How many steps there were before this one.
grad: [n, ...], gradients of rows.
indices: [n], the row of the variable of each; rows may repeat.
)doc");

REGISTER_OP("CavsDescent")
    .Input("var: N * resource")
    .Input("rate: double")
    .Input("grads: N * T")
    .Attr("T: {float, double, bfloat16, half}")
    .Attr("N: int >= 1")
    .SetShapeFn(NoThrowShape<NoOutput>)
    .Doc(R"doc(
Updates variables by gradient descent: var -= rate g, where g is the gradient.

var: The variables.
rate: The learning rate.
grads: The gradients, of the shapes of the variables.
)doc");

REGISTER_OP("CavsLazyDescent")
    .Input("var: resource")
    .Input("rate: double")
    .Input("grad: T")
    .Input("indices: Tindices")
    .Attr("T: {float, double, bfloat16, half}")
    .Attr("Tindices: {int32, int64}")
    .SetShapeFn(NoThrowShape<NoOutput>)
    .Doc(R"doc(
Updates those rows of a variable that have a gradient, by gradient descent: var -= rate g, where g
is the sum of the gradients of a row.

var: The variable, of a shape [rows, ...].
rate: The learning rate.
grad: [n, ...], gradients of rows.
indices: [n], the row of the variable of each; rows may repeat.
)doc");

}  // namespace cavs
