// Keeps exceptions out of TensorFlow's shape inference.
#ifndef CAVS_CC_OPS_SHAPE_FUNCTION_H_
#define CAVS_CC_OPS_SHAPE_FUNCTION_H_

#include <exception>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace cavs {

// NoThrowShape is a shape function that calls `kInfer` and returns its
// exceptions as a status. TensorFlow holds the lock of a graph while it calls a
// shape function, and an exception would leave the graph locked for ever.
//
// Example: REGISTER_OP("CavsX").SetShapeFn(NoThrowShape<XShape>)
template <
    absl::Status (*kInfer)(tensorflow::shape_inference::InferenceContext*)>
absl::Status NoThrowShape(
    tensorflow::shape_inference::InferenceContext* context) noexcept {
  try {
    return kInfer(context);
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  } catch (const std::exception& exception) {
    return absl::Status(absl::StatusCode::kInternal, exception.what());
  } catch (...) {
    return absl::Status(absl::StatusCode::kInternal, "");
  }
}

}  // namespace cavs

#endif  // CAVS_CC_OPS_SHAPE_FUNCTION_H_
