#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/cuda_op_device.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/register_on_gpu.h"
#include "cc/kernels/sorted_rows.h"
#include "cc/kernels/sums_on_gpu.h"
#include "cc/kernels/team_of.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace cavs {
namespace {

using ::tensorflow::DataTypeString;
using ::tensorflow::OpInputList;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::Var;

using VarPointer = tensorflow::core::RefCountPtr<Var>;

// Where the one number of a tensor is.
const double* NumberIn(const Tensor* tensor) {
  return tensor->flat<double>().data();
}
const int64_t* StepsIn(const Tensor* tensor) {
  return tensor->flat<int64_t>().data();
}

// The rules by which variables are updated. kParts names the variables that
// belong together: a variable, and its moments if the rule has some. kNumbers
// names the numbers of the rule, float64 but the number of steps before this
// one, which is int64. RuleOf() makes the rule of the CPU from them, and
// RuleOnGpu() that of a GPU, where they are.
struct Descent {
  static constexpr int kNumParts = 1;
  static constexpr const char* kParts[] = {"var"};
  static constexpr const char* kNumbers[] = {"rate"};
  static UpdateRule RuleOf(const std::vector<const Tensor*>& numbers) {
    return {*NumberIn(numbers[0])};
  }
  static CudaUpdateRule RuleOnGpu(const std::vector<const Tensor*>& numbers) {
    return {NumberIn(numbers[0])};
  }
};

struct Adam {
  static constexpr int kNumParts = 3;
  static constexpr const char* kParts[] = {"var", "m", "v"};
  static constexpr const char* kNumbers[] = {"rate", "steps", "beta1", "beta2",
                                             "epsilon"};
  static UpdateRule RuleOf(const std::vector<const Tensor*>& numbers) {
    const double beta1 = *NumberIn(numbers[2]), beta2 = *NumberIn(numbers[3]);
    const auto steps = static_cast<double>(*StepsIn(numbers[1])) + 1;
    const double correction =
        std::sqrt(1 - std::pow(beta2, steps)) / (1 - std::pow(beta1, steps));
    return {*NumberIn(numbers[0]) * correction, 1 - beta1, 1 - beta2,
            *NumberIn(numbers[4])};
  }
  static CudaUpdateRule RuleOnGpu(const std::vector<const Tensor*>& numbers) {
    return {NumberIn(numbers[0]), StepsIn(numbers[1]), NumberIn(numbers[2]),
            NumberIn(numbers[3]), NumberIn(numbers[4])};
  }
};

// Variables that belong together, in the order of a rule's kParts.
using Parts = std::vector<VarPointer>;

// A Locks holds the locks of variables as long as it lives. It takes them in
// the order of addresses, like all operators that lock several variables.
class Locks {
 public:
  explicit Locks(const std::vector<Parts>& variables) {
    for (const Parts& parts : variables) {
      for (const VarPointer& part : parts) locked_.insert(part.get());
    }
    for (Var* var : locked_) var->mu()->lock();
  }
  ~Locks() {
    for (Var* var : locked_) var->mu()->unlock();
  }
  size_t size() const { return locked_.size(); }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

 private:
  struct ByMutex {
    bool operator()(Var* a, Var* b) const {
      return std::less<>()(a->mu(), b->mu());
    }
  };

  std::set<Var*, ByMutex> locked_;
};

template <typename Rule>
absl::Status FindVariables(OpKernelContext* context,
                           std::vector<Parts>* variables) {
  for (const char* name : Rule::kParts) {
    OpInputList handles;
    TF_RETURN_IF_ERROR(context->input_list(name, &handles));
    variables->resize(handles.size());
    for (int k = 0; k < handles.size(); ++k) {
      VarPointer found;
      TF_RETURN_IF_ERROR(tensorflow::LookupResource(
          context, handles[k].scalar<tensorflow::ResourceHandle>()(), &found));
      (*variables)[k].push_back(std::move(found));
    }
  }
  return absl::OkStatus();
}

// Checks the variable and its moments. `number` is the position of the variable
// among several, or -1 if there is one variable.
template <typename Rule>
absl::Status CheckParts(const Parts& parts, tensorflow::DataType type,
                        bool has_rows, int number) {
  const TensorShape& shape = parts[0]->tensor()->shape();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor& own = *parts[i]->tensor();
    if (parts[i]->is_initialized && own.shape() == shape &&
        own.dtype() == type && (own.dims() >= 1 || !has_rows)) {
      continue;
    }
    return absl::InvalidArgumentError(
        StrCat(ArgumentName(Rule::kParts[i], number), ": got ",
               DataTypeString(own.dtype()), " ", own.shape().DebugString(),
               " but expected ", DataTypeString(type), " ", shape.DebugString(),
               ", as of var", has_rows ? ", of one dimension or more" : "",
               ". Build the optimizer with the variables that it updates."));
  }
  return absl::OkStatus();
}

template <typename Rule>
absl::Status CheckDistinct(const Locks& locks, size_t variables) {
  const size_t expected = Rule::kNumParts * variables;
  if (locks.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(
      "var and moments: got ", locks.size(), " variables but expected ",
      expected, " distinct ones. Pass each variable, and each moment, once."));
}

// Finds the numbers of a rule, which may be in memory of a GPU.
template <typename Rule>
absl::Status FindNumbers(OpKernelContext* context,
                         std::vector<const Tensor*>* numbers) {
  for (const char* name : Rule::kNumbers) {
    const Tensor* number = nullptr;
    TF_RETURN_IF_ERROR(context->input(name, &number));
    if (number->NumElements() != 1) {
      return absl::InvalidArgumentError(
          StrCat(name, ": got shape ", number->shape().DebugString(),
                 " but expected a scalar. Pass one number."));
    }
    numbers->push_back(number);
  }
  return absl::OkStatus();
}

// Gives a variable memory of its own in a place (see OnCpu). Tensors that were
// read from the variable before keep the old memory. REQUIRES: the variable is
// locked.
template <typename Place>
absl::Status MakeOwn(OpKernelContext* context, Var* var, const Place& place) {
  if (var->copy_on_read_mode.load() || var->tensor()->RefCountIsOne()) {
    return absl::OkStatus();
  }
  Tensor own;
  TF_RETURN_IF_ERROR(context->allocate_temp(var->tensor()->dtype(),
                                            var->tensor()->shape(), &own));
  TF_RETURN_IF_ERROR(place.Copy(context, *var->tensor(), &own));
  *var->tensor() = own;
  return absl::OkStatus();
}

template <typename Place>
absl::Status MakeOwn(OpKernelContext* context, const Parts& parts,
                     const Place& place) {
  for (const VarPointer& part : parts) {
    TF_RETURN_IF_ERROR(MakeOwn(context, part.get(), place));
  }
  return absl::OkStatus();
}

UpdatedVariable ToUpdate(const Parts& parts, const Tensor& gradient) {
  const bool has_moments = parts.size() > 1;
  return {parts[0]->tensor()->data(),
          has_moments ? parts[1]->tensor()->data() : nullptr,
          has_moments ? parts[2]->tensor()->data() : nullptr, gradient.data(),
          parts[0]->tensor()->NumElements()};
}

// The rows of a variable that are updated.
struct UpdatedRows {
  UpdatedVariable table;
  int64_t columns;
  SortedRows sorted;
  const Tensor& gradient;
};

// Where updates are done: copies what a variable holds, and updates variables,
// or rows of one, as a rule says whose numbers the op has got.
class OnCpu {
 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Copy(OpKernelContext*, const Tensor& from, Tensor* to) const {
    tensorflow::tensor::DeepCopy(from, to);
    return absl::OkStatus();
  }
  template <typename Rule>
  absl::Status Update(OpKernelContext* context, DType dtype,
                      const std::vector<const Tensor*>& numbers,
                      const std::vector<UpdatedVariable>& variables) const {
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get()).Update(dtype, Rule::RuleOf(numbers), variables);
    return absl::OkStatus();
  }
  template <typename Rule>
  absl::Status UpdateRows(OpKernelContext* context, DType dtype,
                          const std::vector<const Tensor*>& numbers,
                          const UpdatedRows& rows) const {
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .UpdateRows(dtype, Rule::RuleOf(numbers), rows.table, rows.columns,
                    rows.sorted.groups());
    return absl::OkStatus();
  }
};

class OnGpu : public OpOnGpu {
 public:
  absl::Status Copy(OpKernelContext* context, const Tensor& from,
                    Tensor* to) const {
    return device().Enqueue(context, {}, [&](const CudaOpDevice::Work& work) {
      return work.stream->Copy(to->data(), from.data(), from.TotalBytes());
    });
  }
  template <typename Rule>
  absl::Status Update(OpKernelContext* context, DType dtype,
                      const std::vector<const Tensor*>& numbers,
                      const std::vector<UpdatedVariable>& variables) const {
    return device().Enqueue(context, {}, [&](const CudaOpDevice::Work& work) {
      return work.training.Update(dtype, Rule::RuleOnGpu(numbers), variables,
                                  work.stream->queue());
    });
  }
  // Gradients of the same row are added up before.
  template <typename Rule>
  absl::Status UpdateRows(OpKernelContext* context, DType dtype,
                          const std::vector<const Tensor*>& numbers,
                          const UpdatedRows& rows) const {
    const SortedRows& sorted = rows.sorted;
    UpdatedVariable table = rows.table;
    Tensor sums;
    if (!std::is_sorted(sorted.order.begin(), sorted.order.end()) ||
        sorted.rows.size() < sorted.order.size()) {
      TF_RETURN_IF_ERROR(context->allocate_temp(
          rows.gradient.dtype(),
          TensorShape({sorted.groups().count, rows.columns}), &sums));
      TF_RETURN_IF_ERROR(SumGroupsOnGpu(device(), context, rows.gradient,
                                        rows.columns, sorted, &sums));
      table.gradient = sums.data();
    }
    std::vector<int32_t> list;
    TF_RETURN_IF_ERROR(MakeList(sorted.rows, &list));
    return device().Enqueue(
        context, {list}, [&](const CudaOpDevice::Work& work) {
          return work.training.UpdateRows(
              dtype, Rule::RuleOnGpu(numbers), table, rows.columns,
              work.lists[0], sorted.groups().count, work.stream->queue());
        });
  }
};

// UpdateOp updates all elements of several variables.
template <typename Rule, typename Place>
class UpdateOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("T", &type_));
    return place_.Init(context);
  }

  absl::Status Compute(OpKernelContext* context) const {
    std::vector<Parts> variables;
    TF_RETURN_IF_ERROR(FindVariables<Rule>(context, &variables));
    std::vector<const Tensor*> numbers;
    TF_RETURN_IF_ERROR(FindNumbers<Rule>(context, &numbers));
    OpInputList gradients;
    TF_RETURN_IF_ERROR(context->input_list("grads", &gradients));
    const Locks locks(variables);
    TF_RETURN_IF_ERROR(CheckDistinct<Rule>(locks, variables.size()));
    for (int k = 0; k < gradients.size(); ++k) {
      TF_RETURN_IF_ERROR(
          CheckParts<Rule>(variables[k], type_, /*has_rows=*/false, k));
      const TensorShape& expected = variables[k][0]->tensor()->shape();
      if (gradients[k].shape() == expected) continue;
      return absl::InvalidArgumentError(StrCat(
          "grads[", k, "]: got shape ", gradients[k].shape().DebugString(),
          " but expected ", expected.DebugString(),
          ", that of the variable. Pass a gradient of this variable."));
    }
    std::vector<UpdatedVariable> updates;
    for (int k = 0; k < gradients.size(); ++k) {
      TF_RETURN_IF_ERROR(MakeOwn(context, variables[k], place_));
      updates.push_back(ToUpdate(variables[k], gradients[k]));
    }
    return place_.template Update<Rule>(context, ToDType(type_), numbers,
                                        updates);
  }

 private:
  tensorflow::DataType type_ = tensorflow::DT_INVALID;
  Place place_;
};

// UpdateRowsOp updates the rows of a variable that have a gradient.
template <typename Rule, typename Index, typename Place>
class UpdateRowsOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    TF_RETURN_IF_ERROR(context->GetAttr("T", &type_));
    return place_.Init(context);
  }

  absl::Status Compute(OpKernelContext* context) const {
    std::vector<Parts> variables;
    TF_RETURN_IF_ERROR(FindVariables<Rule>(context, &variables));
    std::vector<const Tensor*> numbers;
    TF_RETURN_IF_ERROR(FindNumbers<Rule>(context, &numbers));
    const Tensor *gradient = nullptr, *indices = nullptr;
    TF_RETURN_IF_ERROR(context->input("grad", &gradient));
    TF_RETURN_IF_ERROR(context->input("indices", &indices));
    const Locks locks(variables);
    TF_RETURN_IF_ERROR(CheckDistinct<Rule>(locks, variables.size()));
    const Parts& table = variables[0];
    TF_RETURN_IF_ERROR(CheckParts<Rule>(table, type_, /*has_rows=*/true, -1));
    TF_RETURN_IF_ERROR(
        CheckGradient(table[0]->tensor()->shape(), *gradient, *indices));
    if (indices->NumElements() == 0) return absl::OkStatus();
    TF_RETURN_IF_ERROR(MakeOwn(context, table, place_));
    // From now on, reads of the variable copy it, so that later updates need
    // not.
    for (const VarPointer& part : table) {
      part->copy_on_read_mode.store(true);
    }
    const int64_t count = indices->NumElements();
    return place_.template UpdateRows<Rule>(
        context, ToDType(type_), numbers,
        {ToUpdate(table, *gradient), gradient->NumElements() / count,
         SortRows(indices->flat<Index>().data(), count,
                  table[0]->tensor()->dim_size(0) - 1),
         *gradient});
  }

 private:
  static absl::Status CheckGradient(const TensorShape& table,
                                    const Tensor& gradient,
                                    const Tensor& indices) {
    TensorShape expected = table;
    if (indices.dims() == 1) expected.set_dim(0, indices.NumElements());
    if (indices.dims() != 1 || gradient.shape() != expected) {
      return absl::InvalidArgumentError(
          StrCat("grad, indices: got shapes ", gradient.shape().DebugString(),
                 " and ", indices.shape().DebugString(), " but expected ",
                 expected.DebugString(),
                 " and a vector. Pass the values and indices "
                 "of tf.IndexedSlices."));
    }
    const auto rows = indices.vec<Index>();
    for (int64_t i = 0; i < rows.size(); ++i) {
      if (rows(i) >= 0 && rows(i) < table.dim_size(0)) continue;
      return absl::InvalidArgumentError(StrCat(
          "indices[", i, "]: got ", rows(i), " but expected a row in [0, ",
          table.dim_size(0), ") of the variable."));
    }
    return absl::OkStatus();
  }

  tensorflow::DataType type_ = tensorflow::DT_INVALID;
  Place place_;
};

#define CAVS_REGISTER_ROWS(Op, Rule, Index)                       \
  REGISTER_KERNEL_BUILDER(Name(Op)                                \
                              .Device(tensorflow::DEVICE_CPU)     \
                              .TypeConstraint<Index>("Tindices"), \
                          GuardedSharedOp<UpdateRowsOp<Rule, Index, OnCpu>>)

REGISTER_KERNEL_BUILDER(Name("CavsAdam").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<UpdateOp<Adam, OnCpu>>);
REGISTER_KERNEL_BUILDER(Name("CavsDescent").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<UpdateOp<Descent, OnCpu>>);
CAVS_REGISTER_ROWS("CavsLazyAdam", Adam, int32_t);
CAVS_REGISTER_ROWS("CavsLazyAdam", Adam, int64_t);
CAVS_REGISTER_ROWS("CavsLazyDescent", Descent, int32_t);
CAVS_REGISTER_ROWS("CavsLazyDescent", Descent, int64_t);

#undef CAVS_REGISTER_ROWS

template <typename Index>
bool RegisterRowsOnGpu(tensorflow::DataType index) {
  return RegisterOnGpu<GuardedOp<UpdateRowsOp<Adam, Index, OnGpu>>>(
             "CavsLazyAdam", {"var", "m", "v", "indices"}, {index},
             "Tindices") &&
         RegisterOnGpu<GuardedOp<UpdateRowsOp<Descent, Index, OnGpu>>>(
             "CavsLazyDescent", {"var", "indices"}, {index}, "Tindices");
}

[[maybe_unused]] const bool kOnGpu[] = {
    RegisterOnGpu<GuardedOp<UpdateOp<Adam, OnGpu>>>("CavsAdam",
                                                    {"var", "m", "v"}),
    RegisterOnGpu<GuardedOp<UpdateOp<Descent, OnGpu>>>("CavsDescent", {"var"}),
    RegisterRowsOnGpu<int32_t>(tensorflow::DT_INT32),
    RegisterRowsOnGpu<int64_t>(tensorflow::DT_INT64)};

}  // namespace
}  // namespace cavs
