// Kernels that turn exceptions into errors.
#ifndef CAVS_CC_KERNELS_GUARDED_OP_H_
#define CAVS_CC_KERNELS_GUARDED_OP_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cc/base/no_throw.h"
#include "cc/device/cpu/isa_limit.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tsl/profiler/lib/traceme.h"

namespace cavs {

// Calls `compute`, which returns an absl::Status. An exception becomes an error
// that names `op`, because TensorFlow does not catch exceptions and the process
// would end.
template <typename Compute>
absl::Status NoThrowFromOp(const std::string& op,
                           const Compute& compute) noexcept {
  absl::Status result;
  const Status thrown = NoThrow([&] {
    result = compute();
    return Status();
  });
  if (thrown.ok()) return result;
  const Status named = NoThrow([&] {
    return Status(thrown.code(), StrCat(op, ": ", thrown.message()));
  });
  return ToAbsl(named);
}

// A GuardedOp is a kernel that owns an object of a class `Op`. It cannot be
// made if CAVS_MAX_CPU_ISA is not valid. `Op` is default constructible and has
// the methods
//
//   absl::Status Init(OpKernelConstruction* context);  // Once.
//   absl::Status Compute(OpKernelContext* context);    // From any thread.
//
// Example:
//   REGISTER_KERNEL_BUILDER(Name("CavsX").Device(DEVICE_CPU), GuardedOp<XOp>);
template <typename Op>
class GuardedOp : public tensorflow::OpKernel {
 public:
  explicit GuardedOp(tensorflow::OpKernelConstruction* context)
      : tensorflow::OpKernel(context) {
    OP_REQUIRES_OK(context, NoThrowFromOp(type_string(), [&] {
                     TF_RETURN_IF_ERROR(ToAbsl(CheckIsaLimit()));
                     op_ = std::make_unique<Op>();
                     return op_->Init(context);
                   }));
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    OP_REQUIRES_OK(context, NoThrowFromOp(type_string(), [&] {
                     return op_->Compute(context);
                   }));
  }

 private:
  std::unique_ptr<Op> op_;
};

// A GuardedSharedOp is a kernel whose work all workers of the device share, or
// whose work takes less time than waking a worker. TensorFlow runs it on the
// thread that ran the operator before it, and wakes no other thread for it.
template <typename Op>
class GuardedSharedOp : public GuardedOp<Op> {
 public:
  using GuardedOp<Op>::GuardedOp;

  bool IsExpensive() override { return false; }

  void Compute(tensorflow::OpKernelContext* context) override {
    // TensorFlow's profiler leaves out operators that are not expensive.
    const tsl::profiler::TraceMe trace(
        [this] {
          return tsl::profiler::TraceMeOp(this->name_view(),
                                          this->type_string_view());
        },
        tsl::profiler::TraceMeLevel::kInfo);
    GuardedOp<Op>::Compute(context);
  }
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_GUARDED_OP_H_
