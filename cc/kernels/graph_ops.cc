// Ops on graphs that are not scheduled yet.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/guarded_op.h"
#include "cc/schedule/child_lists.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::OpInputList;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

absl::Status CheckIsVector(const std::string& name, const Tensor& tensor) {
  if (tensor.dims() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(
      name, ": got shape ", tensor.shape().DebugString(),
      " but expected a vector. Pass the fields of a GraphBatch, or splits."));
}

Span<int32_t> ToSpan(const Tensor& vector) {
  const auto flat = vector.flat<int32_t>();
  return {flat.data(), flat.size()};
}

// AbsoluteChildrenOp converts child ids that are relative to their graph to ids
// in the minibatch, and splits to int32. Splits that do not fit become the
// largest or the smallest int32.
template <typename Split>
class AbsoluteChildrenOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    constexpr const char* kNames[] = {"child_splits", "child_ids",
                                      "graph_splits"};
    Tensor* outputs[3];
    for (int i = 0; i < 3; ++i) {
      TF_RETURN_IF_ERROR(CheckIsVector(kNames[i], context->input(i)));
      TF_RETURN_IF_ERROR(AllocateOutput(
          context, kNames[i], i, context->input(i).shape(), &outputs[i]));
    }
    Narrow(context->input(0), outputs[0]);
    Narrow(context->input(2), outputs[2]);
    GraphBatchView batch;
    batch.child_splits = ToSpan(*outputs[0]);
    batch.child_ids = ToSpan(context->input(1));
    batch.graph_splits = ToSpan(*outputs[2]);
    MakeAbsolute(batch, outputs[1]->flat<int32_t>().data());
    return absl::OkStatus();
  }

 private:
  static void Narrow(const Tensor& from, Tensor* to) {
    using Limits = std::numeric_limits<int32_t>;
    const auto values = from.flat<Split>();
    std::transform(values.data(), values.data() + values.size(),
                   to->flat<int32_t>().data(), [](Split value) {
                     return static_cast<int32_t>(std::clamp<Split>(
                         value, Limits::min(), Limits::max()));
                   });
  }
};

class ChildMaskOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return context->GetAttr("arity", &arity_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    TF_RETURN_IF_ERROR(CheckIsVector("child_splits", context->input(0)));
    TF_RETURN_IF_ERROR(CheckIsVector("child_ids", context->input(1)));
    GraphBatchView batch;
    batch.child_splits = ToSpan(context->input(0));
    batch.child_ids = ToSpan(context->input(1));
    TensorShape shape;
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(batch.num_vertices()));
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(arity_));
    Tensor* mask = nullptr;
    TF_RETURN_IF_ERROR(AllocateOutput(context, "mask", 0, shape, &mask));
    FindChildren(batch, arity_, mask->flat<bool>().data());
    return absl::OkStatus();
  }

 private:
  int arity_ = 0;
};

// CheckedRowsOp passes features on if each example has as many rows of each
// feature as it should.
class CheckedRowsOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("names", &names_));
    TF_RETURN_IF_ERROR(context->GetAttr("rows_of", &rows_of_));
    TF_RETURN_IF_ERROR(context->GetAttr("advice", &advice_));
    int num_features = 0;
    TF_RETURN_IF_ERROR(context->GetAttr("N", &num_features));
    const auto n = static_cast<size_t>(num_features);
    if (names_.size() == n && rows_of_.size() == n && advice_.size() == n &&
        static_cast<size_t>(context->num_outputs()) == n) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(StrCat(
        "names, rows_of, advice: got ", names_.size(), ", ", rows_of_.size(),
        " and ", advice_.size(), " texts but expected ", n,
        ", as many as there are splits and features, of which there "
        "are ",
        context->num_outputs(), ". Give one of each."));
  }

  absl::Status Compute(OpKernelContext* context) const {
    OpInputList features, splits, expected;
    TF_RETURN_IF_ERROR(context->input_list("features", &features));
    TF_RETURN_IF_ERROR(context->input_list("splits", &splits));
    TF_RETURN_IF_ERROR(context->input_list("expected", &expected));
    for (int i = 0; i < features.size(); ++i) {
      TF_RETURN_IF_ERROR(Check(i, splits[i], expected[i]));
      context->set_output(i, features[i]);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Check(int feature, const Tensor& splits,
                     const Tensor& expected) const {
    const std::string& name = names_[feature];
    TF_RETURN_IF_ERROR(CheckIsVector(name, splits));
    TF_RETURN_IF_ERROR(CheckIsVector(name, expected));
    const auto got = splits.vec<int64_t>(), asked = expected.vec<int64_t>();
    if (got.size() != asked.size()) {
      return absl::InvalidArgumentError(
          StrCat(name, ": got splits of ", got.size() - 1,
                 " examples but expected ", asked.size() - 1,
                 ", as many as there are graphs. Batch both together."));
    }
    for (int64_t i = 0; i + 1 < got.size(); ++i) {
      const int64_t rows = got(i + 1) - got(i);
      const int64_t should_be = asked(i + 1) - asked(i);
      if (rows == should_be) continue;
      return absl::InvalidArgumentError(
          StrCat(name, ": got ", rows, " rows but expected ", should_be,
                 ", one per ", rows_of_[feature], ", in example ", i,
                 " of the minibatch. ", advice_[feature]));
    }
    return absl::OkStatus();
  }

  std::vector<std::string> names_, rows_of_, advice_;
};

// CheckedExampleOp passes features on unless its input `error` says why they
// could not be read.
class CheckedExampleOp {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    const Tensor& error = context->input(0);
    if (error.dims() != 0) {
      return absl::InvalidArgumentError(
          StrCat("error: got shape ", error.shape().DebugString(),
                 " but expected a scalar. Pass one message."));
    }
    const tensorflow::tstring& message = error.scalar<tensorflow::tstring>()();
    if (!message.empty()) return absl::InvalidArgumentError(message);
    for (int i = 0; i < context->num_outputs(); ++i) {
      context->set_output(i, context->input(i + 1));
    }
    return absl::OkStatus();
  }
};

REGISTER_KERNEL_BUILDER(Name("CavsAbsoluteChildren")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int32_t>("Tsplits"),
                        GuardedOp<AbsoluteChildrenOp<int32_t>>);
REGISTER_KERNEL_BUILDER(Name("CavsAbsoluteChildren")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int64_t>("Tsplits"),
                        GuardedOp<AbsoluteChildrenOp<int64_t>>);
REGISTER_KERNEL_BUILDER(Name("CavsChildMask").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<ChildMaskOp>);
REGISTER_KERNEL_BUILDER(Name("CavsCheckedRows").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<CheckedRowsOp>);
REGISTER_KERNEL_BUILDER(
    Name("CavsCheckedExample").Device(tensorflow::DEVICE_CPU),
    GuardedOp<CheckedExampleOp>);

}  // namespace
}  // namespace cavs
