// Operators of TensorFlow that a GPU has and another device either has not or
// runs on the host, which cannot touch the memory of this one.

#include "tensorflow/c/kernels.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "tensorflow/core/framework/bfloat16.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tests/accelerator/work.h"

namespace cavs_test {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Var;

constexpr char kDevice[] = "CAVS_TEST";

void Enqueue(OpKernelContext* context, std::function<void()> work) {
  TF_Status* const status = TF_NewStatus();
  SP_Stream const stream =
      TF_GetStream(reinterpret_cast<TF_OpKernelContext*>(context), status);
  TF_DeleteStatus(status);
  cavs_test::Enqueue(stream, std::move(work));
}

// The numbers of a tensor, for work that is enqueued.
template <typename T>
T* Numbers(const Tensor& tensor) {
  return Real(const_cast<T*>(tensor.flat<T>().data()));
}

// The tensor of a variable, which no one else holds.
absl::Status OwnTensor(OpKernelContext* context, Var* variable,
                       Tensor** tensor) {
  *tensor = variable->tensor();
  if ((*tensor)->RefCountIsOne()) return absl::OkStatus();
  Tensor copy;
  TF_RETURN_IF_ERROR(
      context->allocate_temp((*tensor)->dtype(), (*tensor)->shape(), &copy));
  Enqueue(context, [to = Real(copy.data()), from = Real((*tensor)->data()),
                    size = copy.TotalBytes()] { std::memcpy(to, from, size); });
  **tensor = copy;
  return absl::OkStatus();
}

struct Add {
  template <typename T>
  static void Run(T* to, T value) {
    *to = static_cast<T>(*to + value);
  }
};
struct Subtract {
  template <typename T>
  static void Run(T* to, T value) {
    *to = static_cast<T>(*to - value);
  }
};
struct Replace {
  template <typename T>
  static void Run(T* to, T value) {
    *to = value;
  }
};

// Of int32, which lies in the memory of the host.
template <int kValue>
class FilledOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor* filled = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(
                                0, context->input(0).shape(), &filled));
    filled->flat<std::int32_t>().setConstant(kValue);
  }
};

template <typename T, typename Rule>
class AssignOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    tensorflow::core::RefCountPtr<Var> variable;
    OP_REQUIRES_OK(context, LookupResource(context, HandleFromInput(context, 0),
                                           &variable));
    tensorflow::mutex_lock lock(*variable->mu());
    Tensor* tensor = nullptr;
    OP_REQUIRES_OK(context, OwnTensor(context, variable.get(), &tensor));
    const Tensor& change = context->input(1);
    OP_REQUIRES(context, tensor->shape() == change.shape(),
                absl::InvalidArgumentError("shapes differ"));
    Enqueue(context, [to = Numbers<T>(*tensor), from = Numbers<T>(change),
                      size = tensor->NumElements()] {
      for (std::int64_t i = 0; i < size; ++i) Rule::Run(&to[i], from[i]);
    });
  }
};

template <typename T, typename Index, typename Rule>
class ScatterOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    tensorflow::core::RefCountPtr<Var> variable;
    OP_REQUIRES_OK(context, LookupResource(context, HandleFromInput(context, 0),
                                           &variable));
    tensorflow::mutex_lock lock(*variable->mu());
    Tensor* tensor = nullptr;
    OP_REQUIRES_OK(context, OwnTensor(context, variable.get(), &tensor));
    const Tensor& rows = context->input(1);
    const Tensor& changes = context->input(2);
    if (rows.NumElements() == 0) return;
    Enqueue(context, [to = Numbers<T>(*tensor), row = Numbers<Index>(rows),
                      from = Numbers<T>(changes), num_rows = rows.NumElements(),
                      width = changes.NumElements() / rows.NumElements()] {
      for (std::int64_t i = 0; i < num_rows * width; ++i) {
        Rule::Run(&to[row[i / width] * width + i % width], from[i]);
      }
    });
  }
};

// Zeros for rows that are not there, as on a GPU.
template <typename T, typename Index>
class GatherOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    tensorflow::core::RefCountPtr<Var> variable;
    OP_REQUIRES_OK(context, LookupResource(context, HandleFromInput(context, 0),
                                           &variable));
    tensorflow::tf_shared_lock lock(*variable->mu());
    const Tensor& table = *variable->tensor();
    const Tensor& rows = context->input(1);
    tensorflow::TensorShape shape = rows.shape(), row_shape = table.shape();
    row_shape.RemoveDim(0);
    shape.AppendShape(row_shape);
    Tensor* gathered = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &gathered));
    if (gathered->NumElements() == 0) return;
    Enqueue(
        context, [to = Numbers<T>(*gathered), from = Numbers<T>(table),
                  row = Numbers<Index>(rows), num_rows = rows.NumElements(),
                  count = table.dim_size(0), width = row_shape.num_elements()] {
          for (std::int64_t i = 0; i < num_rows * width; ++i) {
            const std::int64_t r = row[i / width];
            to[i] = 0 <= r && r < count ? from[r * width + i % width] : T(0);
          }
        });
  }
};

REGISTER_KERNEL_BUILDER(Name("ZerosLike")
                            .Device(kDevice)
                            .TypeConstraint<std::int32_t>("T")
                            .HostMemory("x")
                            .HostMemory("y"),
                        FilledOp<0>);
REGISTER_KERNEL_BUILDER(Name("OnesLike")
                            .Device(kDevice)
                            .TypeConstraint<std::int32_t>("T")
                            .HostMemory("x")
                            .HostMemory("y"),
                        FilledOp<1>);

#define CAVS_TEST_ASSIGN(Op, T, ...)                       \
  REGISTER_KERNEL_BUILDER(Name(Op)                         \
                              .Device(kDevice)             \
                              .HostMemory("resource")      \
                              .TypeConstraint<T>("dtype"), \
                          __VA_ARGS__)
#define CAVS_TEST_ROWS(Op, T, Index, ...)                         \
  REGISTER_KERNEL_BUILDER(Name(Op)                                \
                              .Device(kDevice)                    \
                              .HostMemory("resource")             \
                              .TypeConstraint<T>("dtype")         \
                              .TypeConstraint<Index>("Tindices"), \
                          __VA_ARGS__)
#define CAVS_TEST_ROWS_BY(T, Index)                                         \
  CAVS_TEST_ROWS("ResourceGather", T, Index, GatherOp<T, Index>);           \
  CAVS_TEST_ROWS("ResourceScatterAdd", T, Index, ScatterOp<T, Index, Add>); \
  CAVS_TEST_ROWS("ResourceScatterSub", T, Index,                            \
                 ScatterOp<T, Index, Subtract>);                            \
  CAVS_TEST_ROWS("ResourceScatterUpdate", T, Index,                         \
                 ScatterOp<T, Index, Replace>)
#define CAVS_TEST_TYPE(T)                                            \
  CAVS_TEST_ASSIGN("AssignAddVariableOp", T, AssignOp<T, Add>);      \
  CAVS_TEST_ASSIGN("AssignSubVariableOp", T, AssignOp<T, Subtract>); \
  CAVS_TEST_ROWS_BY(T, std::int32_t);                                \
  CAVS_TEST_ROWS_BY(T, std::int64_t)

CAVS_TEST_TYPE(float);
CAVS_TEST_TYPE(double);
CAVS_TEST_TYPE(Eigen::half);
CAVS_TEST_TYPE(tensorflow::bfloat16);
CAVS_TEST_TYPE(std::int64_t);

}  // namespace
}  // namespace cavs_test
