// Converts Status to TensorFlow's status type.
#ifndef CAVS_CC_KERNELS_STATUS_UTIL_H_
#define CAVS_CC_KERNELS_STATUS_UTIL_H_

#include "absl/status/status.h"
#include "cc/base/status.h"

namespace cavs {

inline absl::Status ToAbsl(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return absl::OkStatus();
    case StatusCode::kInvalidArgument:
      return absl::InvalidArgumentError(status.message());
    case StatusCode::kResourceExhausted:
      return absl::ResourceExhaustedError(status.message());
    case StatusCode::kCancelled:
      return absl::CancelledError(status.message());
    case StatusCode::kUnimplemented:
      return absl::UnimplementedError(status.message());
    case StatusCode::kInternal:
      return absl::InternalError(status.message());
  }
  return absl::InternalError(status.message());
}

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_STATUS_UTIL_H_
