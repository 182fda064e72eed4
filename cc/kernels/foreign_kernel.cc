#include "cc/kernels/foreign_kernel.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/core/common_runtime/executor.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// A LentBuffer lends the memory of a dynamic tensor to a kernel for one call.
// It does not own the memory.
class LentBuffer : public tensorflow::TensorBuffer {
 public:
  LentBuffer(void* data, size_t size)
      : tensorflow::TensorBuffer(data), size_(size) {}
  size_t size() const override { return size_; }
  tensorflow::TensorBuffer* root_buffer() override { return this; }
  void FillAllocationDescription(
      tensorflow::AllocationDescription*) const override {}
  bool OwnsMemory() const override { return false; }

 private:
  const size_t size_;
};

int64_t RowElements(const TensorRef& ref) {
  int64_t elements = 1;
  for (size_t i = 1; i < ref.shape.size(); ++i) elements *= ref.shape[i];
  return elements;
}

bool IsDense(const TensorRef& ref) {
  return ref.pitch == 0 || ref.shape[0] <= 1 || ref.pitch == RowElements(ref);
}

// Copies between a dense tensor and (possibly strided) rows.
void CopyRows(const TensorRef& ref, void* dense, bool to_dense) {
  const int64_t rows = ref.shape.empty() ? 1 : ref.shape[0];
  const size_t width = RowElements(ref) * SizeOf(ref.dtype);
  const size_t pitch = IsDense(ref) ? width : ref.pitch * SizeOf(ref.dtype);
  char* strided = static_cast<char*>(ref.data);
  char* packed = static_cast<char*>(dense);
  if (width == 0) return;
  for (int64_t i = 0; i < rows; ++i) {
    if (to_dense) {
      std::memcpy(packed + i * width, strided + i * pitch, width);
    } else {
      std::memcpy(strided + i * pitch, packed + i * width, width);
    }
  }
}

StatusCode CodeOf(const absl::Status& status) {
  if (absl::IsCancelled(status)) return StatusCode::kCancelled;
  if (absl::IsResourceExhausted(status)) return StatusCode::kResourceExhausted;
  if (absl::IsUnimplemented(status)) return StatusCode::kUnimplemented;
  return StatusCode::kInvalidArgument;
}

// Returns the arguments with which a device can draw the mask of dropout
// itself, if the operator draws one.
std::optional<DrawnMask> MaskOf(const tensorflow::Node& node) {
  DrawnMask mask;
  int number = 0;
  if (node.type_string() != "CavsDropoutMask" ||
      !tensorflow::GetNodeAttr(node.attrs(), "rate", &mask.rate).ok() ||
      !tensorflow::GetNodeAttr(node.attrs(), "number", &number).ok() ||
      mask.rate < 0 || mask.rate >= 1) {
    return std::nullopt;
  }
  mask.number = static_cast<uint32_t>(number);
  return mask;
}

// Whether it rounds to the nearest number, as casts do unless told otherwise.
bool Casts(const tensorflow::Node& node) {
  bool truncates = false;
  return node.type_string() == "Cast" &&
         tensorflow::GetNodeAttr(node.attrs(), "Truncate", &truncates).ok() &&
         !truncates;
}

// An operator of which devices can see whether they can do without it.
class KnownOperator : public ForeignOp {
 public:
  explicit KnownOperator(const tensorflow::Node& node)
      : mask_(MaskOf(node)), casts_(Casts(node)) {}

  const DrawnMask* mask() const override {
    return mask_.has_value() ? &*mask_ : nullptr;
  }
  bool casts() const override { return casts_; }

 private:
  const std::optional<DrawnMask> mask_;
  const bool casts_;
};

class ForeignKernel : public KnownOperator {
 public:
  ForeignKernel(const tensorflow::Node& node,
                std::unique_ptr<tensorflow::OpKernel> kernel,
                tensorflow::FunctionLibraryRuntime* runtime)
      : KnownOperator(node),
        name_(node.name()),
        kernel_(std::move(kernel)),
        runtime_(runtime) {}

  Status Run(void* host, const std::vector<TensorRef>& inputs,
             std::vector<TensorRef>* outputs) const override {
    OpKernelContext* const outer = static_cast<OpKernelContext*>(host);
    Call call;
    // An opaque value may keep its inputs (a list of tensors does), so these
    // must not be memory that the next task overwrites.
    for (const TensorRef& output : *outputs) call.may_keep |= output.opaque;
    for (const TensorRef& input : inputs) {
      CAVS_RETURN_IF_ERROR(Lend(input, outer, &call));
    }
    absl::Status status = Compute(outer, &call);
    if (!status.ok()) {
      return Status(CodeOf(status), StrCat("vertex function: operator ", name_,
                                           " (", kernel_->type_string(),
                                           ") failed: ", status.message()));
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      CAVS_RETURN_IF_ERROR(StoreOutput(call.outputs[i], &(*outputs)[i]));
    }
    return Status();
  }

 private:
  struct Call {
    bool may_keep = false;
    std::vector<Tensor> inputs;
    // A second reference to every lent tensor, since a kernel reuses the memory
    // of an input to which it has the only reference.
    std::vector<Tensor> held;
    std::vector<Tensor> outputs;
  };

  // Adds the next input of a call, made from `ref`.
  Status Lend(const TensorRef& ref, OpKernelContext* outer, Call* call) const {
    Tensor tensor;
    if (ref.handle != nullptr) {
      tensor = *static_cast<const Tensor*>(ref.handle.get());
    } else if (ref.opaque || ref.dtype == DType::kOther) {
      return NotComputed();
    } else {
      CAVS_RETURN_IF_ERROR(MakeTensor(ref, outer, call, &tensor));
    }
    const int i = static_cast<int>(call->inputs.size());
    if (i >= kernel_->num_inputs() ||
        tensor.dtype() != kernel_->input_type(i)) {
      return InvalidArgument(
          "vertex function: operator ", name_, " (", kernel_->type_string(),
          ") got an input ", i, " of type ", DataTypeString(tensor.dtype()),
          " but expected that of when it was traced. Trace the vertex function "
          "again.");
    }
    call->inputs.push_back(tensor);
    call->held.push_back(tensor);
    return Status();
  }

  Status NotComputed() const {
    return Internal("operator ", name_, " reads a value that was not computed");
  }

  // Makes a tensor of numbers or rows, in the memory of `ref` if possible.
  Status MakeTensor(const TensorRef& ref, OpKernelContext* outer,
                    const Call* call, Tensor* tensor) const {
    TensorShape shape;
    const absl::Status built = TensorShape::BuildTensorShape(ref.shape, &shape);
    if (!built.ok()) return InvalidArgument(name_, ": ", built.message());
    const tensorflow::DataType dtype = ToDataType(ref.dtype);
    const int64_t elements = shape.num_elements();
    const bool is_counted = !ref.numbers.empty();
    if (!is_counted && ref.data == nullptr && elements > 0) {
      return NotComputed();
    }
    const bool aligned =
        reinterpret_cast<uintptr_t>(ref.data) % EIGEN_MAX_ALIGN_BYTES == 0;
    if (!is_counted && aligned && IsDense(ref) && !call->may_keep) {
      auto* lent = new LentBuffer(ref.data, elements * SizeOf(ref.dtype));
      *tensor = Tensor(dtype, shape, lent);
      lent->Unref();
      return Status();
    }
    const absl::Status made =
        AllocateTemporary(outer, name_.c_str(), dtype, shape, tensor);
    if (!made.ok()) {
      return Status(CodeOf(made), std::string(made.message()));
    }
    if (!is_counted) {
      CopyRows(ref, tensor->data(), /*to_dense=*/true);
    } else if (ref.dtype == DType::kInt32) {
      std::copy(ref.numbers.begin(), ref.numbers.end(),
                tensor->flat<int32_t>().data());
    } else {
      std::copy(ref.numbers.begin(), ref.numbers.end(),
                tensor->flat<int64_t>().data());
    }
    return Status();
  }

  absl::Status Compute(OpKernelContext* outer, Call* call) const {
    std::vector<tensorflow::TensorValue> values;
    for (Tensor& input : call->inputs) values.emplace_back(&input);
    const std::vector<tensorflow::AllocatorAttributes> input_attrs(
        values.size());
    const std::vector<tensorflow::AllocatorAttributes> output_attrs(
        kernel_->num_outputs());
    // Functions that the operator calls run on this thread: they must not wait
    // for a thread of the pool, which may be the one that waits for them.
    std::function<void(std::function<void()>)> inline_runner =
        [](const std::function<void()>& closure) { closure(); };
    const OpKernelContext::Params& from = *outer->params();
    OpKernelContext::Params params;
    params.step_id = from.step_id;
    params.start_time_usecs = from.start_time_usecs;
    params.op_kernel = kernel_.get();
    params.device = from.device;
    params.output_attr_array = output_attrs.data();
    params.resource_manager = from.resource_manager;
    params.step_container = from.step_container;
    params.rendezvous = from.rendezvous;
    params.session_config = from.session_config;
    params.session_state = from.session_state;
    params.cancellation_manager = from.cancellation_manager;
    params.inputs = values;
    params.input_alloc_attrs = input_attrs;
    params.op_device_context = from.op_device_context;
    params.frame_iter = from.frame_iter;
    params.function_library = runtime_;
    params.runner = &inline_runner;
    params.run_all_kernels_inline = true;
    OpKernelContext context(&params, kernel_->num_outputs());
    if (tensorflow::AsyncOpKernel* async = kernel_->AsAsync()) {
      absl::Notification done;
      async->ComputeAsync(&context, [&done] { done.Notify(); });
      done.WaitForNotification();
    } else {
      kernel_->Compute(&context);
    }
    if (!context.status().ok()) return context.status();
    for (int i = 0; i < kernel_->num_outputs(); ++i) {
      const Tensor* output = context.mutable_output(i);
      if (output == nullptr) {
        return absl::InternalError("a result is missing");
      }
      call->outputs.push_back(*output);
      // mutable_output lends the tensor; release_output gives it up.
      tensorflow::TensorValue released = context.release_output(i);
      if (!released.is_ref()) delete released.tensor;
    }
    return absl::OkStatus();
  }

  Status StoreOutput(const Tensor& output, TensorRef* to) const {
    if (to->opaque) {
      to->handle = std::make_shared<Tensor>(output);
      return Status();
    }
    if (to->data == nullptr && to->shape.empty()) {
      *to = ToTensorRef(output);
      return Status();
    }
    int64_t expected = 1;
    for (int64_t dim : to->shape) expected *= dim;
    if (output.NumElements() != expected ||
        output.dtype() != ToDataType(to->dtype)) {
      return InvalidArgument(
          "vertex function: operator ", name_, " (", kernel_->type_string(),
          ") gave ", output.NumElements(), " elements but expected ", expected,
          ", as when it was traced. Its result must have one row per vertex.");
    }
    if (expected > 0 && to->data == nullptr) return NotComputed();
    if (expected > 0) CopyRows(*to, output.data(), /*to_dense=*/false);
    return Status();
  }

  const std::string name_;
  const std::unique_ptr<tensorflow::OpKernel> kernel_;
  tensorflow::FunctionLibraryRuntime* const runtime_;
};

// RefusedOperator stands for an operator of a vertex function on a GPU, where
// no kernel of TensorFlow runs. It returns an error only when it runs, because
// passes may remove it before.
class RefusedOperator : public KnownOperator {
 public:
  RefusedOperator(const tensorflow::Node& node, std::string device)
      : KnownOperator(node),
        title_(StrCat(node.name(), " (", node.type_string(), ")")),
        device_(std::move(device)) {}

  Status Run(void*, const std::vector<TensorRef>&,
             std::vector<TensorRef>*) const override {
    return Status(StatusCode::kUnimplemented,
                  StrCat("vertex function: operator ", title_,
                         ": got a device of type ", device_,
                         " but expected the CPU, which alone has a kernel of "
                         "this operator. Call the model under `with "
                         "tf.device(\"CPU:0\")`, or set CAVS_CUDA=0."));
  }

 private:
  const std::string title_, device_;
};

}  // namespace

absl::Status MakeForeignKernel(tensorflow::FunctionLibraryRuntime* runtime,
                               const tensorflow::Node& node,
                               std::shared_ptr<ForeignOp>* foreign) {
  if (runtime->device()->device_type() != tensorflow::DEVICE_CPU) {
    *foreign = std::make_shared<RefusedOperator>(
        node, runtime->device()->device_type());
    return absl::OkStatus();
  }
  tensorflow::OpKernel* kernel = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::CreateNonCachedKernel(
      runtime->device(), runtime, node.properties(),
      runtime->graph_def_version(), &kernel));
  *foreign = std::make_shared<ForeignKernel>(
      node, std::unique_ptr<tensorflow::OpKernel>(kernel), runtime);
  return absl::OkStatus();
}

}  // namespace cavs
