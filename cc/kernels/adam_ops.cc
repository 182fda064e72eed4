#include <algorithm>
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
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/step.h"
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

// A variable and its moments.
constexpr const char* kParts[] = {"var", "m", "v"};
constexpr int kNumParts = 3;
constexpr const char* kScalars[] = {"rate", "beta1", "beta2", "epsilon"};

struct Parts {
  VarPointer part[kNumParts];

  Tensor* tensor(int i) const { return part[i]->tensor(); }
};

// Locks in the order of addresses, as all operators do that lock several.
class Locks {
 public:
  explicit Locks(const std::vector<Parts>& variables) {
    for (const Parts& parts : variables) {
      for (const VarPointer& part : parts.part) locked_.insert(part.get());
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

absl::Status FindVariables(OpKernelContext* context,
                           std::vector<Parts>* variables) {
  for (int i = 0; i < kNumParts; ++i) {
    OpInputList handles;
    TF_RETURN_IF_ERROR(context->input_list(kParts[i], &handles));
    variables->resize(handles.size());
    for (int k = 0; k < handles.size(); ++k) {
      TF_RETURN_IF_ERROR(tensorflow::LookupResource(
          context, handles[k].scalar<tensorflow::ResourceHandle>()(),
          &(*variables)[k].part[i]));
    }
  }
  return absl::OkStatus();
}

// `where` is empty, or "[k]" of variable k of several.
absl::Status CheckParts(const Parts& parts, tensorflow::DataType type,
                        bool has_rows, const std::string& where) {
  const TensorShape& shape = parts.tensor(0)->shape();
  for (int i = 0; i < kNumParts; ++i) {
    const Tensor& own = *parts.tensor(i);
    if (parts.part[i]->is_initialized && own.shape() == shape &&
        own.dtype() == type && (own.dims() >= 1 || !has_rows)) {
      continue;
    }
    return absl::InvalidArgumentError(
        StrCat(kParts[i], where, ": got ", DataTypeString(own.dtype()), " ",
               own.shape().DebugString(), " but expected ",
               DataTypeString(type), " ", shape.DebugString(), ", as of var",
               has_rows ? ", of one dimension or more" : "",
               ". Build the optimizer with the variables that it updates."));
  }
  return absl::OkStatus();
}

absl::Status CheckDistinct(const Locks& locks, size_t variables) {
  if (locks.size() == kNumParts * variables) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("var, m, v: got ", locks.size(), " variables but expected ",
             kNumParts * variables,
             " distinct ones. Pass each variable, and each moment, once."));
}

absl::Status ReadRule(OpKernelContext* context, AdamRule* rule) {
  double values[4];
  for (int i = 0; i < 4; ++i) {
    const Tensor* scalar = nullptr;
    TF_RETURN_IF_ERROR(context->input(kScalars[i], &scalar));
    if (scalar->NumElements() != 1) {
      return absl::InvalidArgumentError(
          StrCat(kScalars[i], ": got shape ", scalar->shape().DebugString(),
                 " but expected a scalar. Pass one number."));
    }
    values[i] = scalar->flat<double>()(0);
  }
  *rule = {values[0], 1 - values[1], 1 - values[2], values[3]};
  return absl::OkStatus();
}

// Makes the memory of a variable, which is locked, its own: what was read
// before keeps the old one.
absl::Status MakeOwn(OpKernelContext* context, Var* var) {
  if (var->copy_on_read_mode.load() || var->tensor()->RefCountIsOne()) {
    return absl::OkStatus();
  }
  Tensor copy;
  TF_RETURN_IF_ERROR(context->allocate_temp(var->tensor()->dtype(),
                                            var->tensor()->shape(), &copy));
  tensorflow::tensor::DeepCopy(*var->tensor(), &copy);
  *var->tensor() = copy;
  return absl::OkStatus();
}

absl::Status MakeOwn(OpKernelContext* context, const Parts& parts) {
  for (const VarPointer& part : parts.part) {
    TF_RETURN_IF_ERROR(MakeOwn(context, part.get()));
  }
  return absl::OkStatus();
}

AdamVariable ToUpdate(const Parts& parts, const Tensor& gradient) {
  return {parts.tensor(0)->data(), parts.tensor(1)->data(),
          parts.tensor(2)->data(), gradient.data(),
          parts.tensor(0)->NumElements()};
}

class AdamOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return context->GetAttr("T", &type_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    std::vector<Parts> variables;
    TF_RETURN_IF_ERROR(FindVariables(context, &variables));
    AdamRule rule;
    TF_RETURN_IF_ERROR(ReadRule(context, &rule));
    OpInputList gradients;
    TF_RETURN_IF_ERROR(context->input_list("grads", &gradients));
    const Locks locks(variables);
    TF_RETURN_IF_ERROR(CheckDistinct(locks, variables.size()));
    for (int k = 0; k < gradients.size(); ++k) {
      TF_RETURN_IF_ERROR(CheckParts(variables[k], type_, /*has_rows=*/false,
                                    StrCat("[", k, "]")));
      const TensorShape& expected = variables[k].tensor(0)->shape();
      if (gradients[k].shape() == expected) continue;
      return absl::InvalidArgumentError(StrCat(
          "grads[", k, "]: got shape ", gradients[k].shape().DebugString(),
          " but expected ", expected.DebugString(),
          ", that of the variable. Pass a gradient of this variable."));
    }
    std::vector<AdamVariable> updates;
    for (int k = 0; k < gradients.size(); ++k) {
      TF_RETURN_IF_ERROR(MakeOwn(context, variables[k]));
      updates.push_back(ToUpdate(variables[k], gradients[k]));
    }
    const std::shared_ptr<Team> team = TakeTeam(context);
    CpuBackend(team.get()).UpdateByAdam(ToDType(type_), rule, updates);
    return absl::OkStatus();
  }

 private:
  tensorflow::DataType type_ = tensorflow::DT_INVALID;
};

// See RowGroups.
struct SortedRows {
  std::vector<int64_t> rows, splits, order;

  RowGroups groups() const {
    return {rows.data(), splits.data(), order.data(),
            static_cast<int64_t>(rows.size())};
  }
};

template <typename Index>
SortedRows SortRows(const Index* indices, int64_t count) {
  std::vector<std::pair<Index, int64_t>> sorted(count);
  for (int64_t i = 0; i < count; ++i) sorted[i] = {indices[i], i};
  std::sort(sorted.begin(), sorted.end());
  SortedRows result;
  for (const auto& [row, position] : sorted) {
    if (result.rows.empty() || result.rows.back() != row) {
      result.rows.push_back(row);
      result.splits.push_back(static_cast<int64_t>(result.order.size()));
    }
    result.order.push_back(position);
  }
  result.splits.push_back(count);
  return result;
}

template <typename Index>
class LazyAdamOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return context->GetAttr("T", &type_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    std::vector<Parts> variables;
    TF_RETURN_IF_ERROR(FindVariables(context, &variables));
    AdamRule rule;
    TF_RETURN_IF_ERROR(ReadRule(context, &rule));
    const Tensor *gradient = nullptr, *indices = nullptr;
    TF_RETURN_IF_ERROR(context->input("grad", &gradient));
    TF_RETURN_IF_ERROR(context->input("indices", &indices));
    const Locks locks(variables);
    TF_RETURN_IF_ERROR(CheckDistinct(locks, variables.size()));
    const Parts& table = variables[0];
    TF_RETURN_IF_ERROR(CheckParts(table, type_, /*has_rows=*/true, ""));
    TF_RETURN_IF_ERROR(
        CheckGradient(table.tensor(0)->shape(), *gradient, *indices));
    if (indices->NumElements() == 0) return absl::OkStatus();
    TF_RETURN_IF_ERROR(MakeOwn(context, table));
    // From now on reads copy, so that later updates need not.
    for (const VarPointer& part : table.part) {
      part->copy_on_read_mode.store(true);
    }
    const SortedRows sorted =
        SortRows(indices->flat<Index>().data(), indices->NumElements());
    const std::shared_ptr<Team> team = TakeTeam(context);
    CpuBackend(team.get())
        .UpdateRowsByAdam(ToDType(type_), rule, ToUpdate(table, *gradient),
                          gradient->NumElements() / indices->NumElements(),
                          sorted.groups());
    return absl::OkStatus();
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
};

REGISTER_KERNEL_BUILDER(Name("CavsAdam").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<AdamOp>);
REGISTER_KERNEL_BUILDER(Name("CavsLazyAdam")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int32_t>("Tindices"),
                        GuardedOp<LazyAdamOp<int32_t>>);
REGISTER_KERNEL_BUILDER(Name("CavsLazyAdam")
                            .Device(tensorflow::DEVICE_CPU)
                            .TypeConstraint<int64_t>("Tindices"),
                        GuardedOp<LazyAdamOp<int64_t>>);

}  // namespace
}  // namespace cavs
