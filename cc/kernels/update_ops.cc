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
#include "cc/kernels/sorted_rows.h"
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

// The rules by which variables are updated. kParts names the variables that
// belong together: a variable, and its moments if the rule has some. kScalars
// names the numbers from which RuleOf() makes the rule.
struct Descent {
  static constexpr int kNumParts = 1;
  static constexpr const char* kParts[] = {"var"};
  static constexpr const char* kScalars[] = {"rate"};
  static UpdateRule RuleOf(const std::vector<double>& scalars) {
    return {scalars[0]};
  }
};

struct Adam {
  static constexpr int kNumParts = 3;
  static constexpr const char* kParts[] = {"var", "m", "v"};
  static constexpr const char* kScalars[] = {"rate", "beta1", "beta2",
                                             "epsilon"};
  static UpdateRule RuleOf(const std::vector<double>& scalars) {
    return {scalars[0], 1 - scalars[1], 1 - scalars[2], scalars[3]};
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

template <typename Rule>
absl::Status ReadRule(OpKernelContext* context, UpdateRule* rule) {
  std::vector<double> scalars;
  for (const char* name : Rule::kScalars) {
    const Tensor* scalar = nullptr;
    TF_RETURN_IF_ERROR(context->input(name, &scalar));
    if (scalar->NumElements() != 1) {
      return absl::InvalidArgumentError(
          StrCat(name, ": got shape ", scalar->shape().DebugString(),
                 " but expected a scalar. Pass one number."));
    }
    scalars.push_back(scalar->flat<double>()(0));
  }
  *rule = Rule::RuleOf(scalars);
  return absl::OkStatus();
}

// Gives a variable memory of its own. Tensors that were read from the variable
// before keep the old memory. REQUIRES: the variable is locked.
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
  for (const VarPointer& part : parts) {
    TF_RETURN_IF_ERROR(MakeOwn(context, part.get()));
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

// UpdateOp updates all elements of several variables.
template <typename Rule>
class UpdateOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return context->GetAttr("T", &type_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    std::vector<Parts> variables;
    TF_RETURN_IF_ERROR(FindVariables<Rule>(context, &variables));
    UpdateRule rule;
    TF_RETURN_IF_ERROR(ReadRule<Rule>(context, &rule));
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
      TF_RETURN_IF_ERROR(MakeOwn(context, variables[k]));
      updates.push_back(ToUpdate(variables[k], gradients[k]));
    }
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get()).Update(ToDType(type_), rule, updates);
    return absl::OkStatus();
  }

 private:
  tensorflow::DataType type_ = tensorflow::DT_INVALID;
};

// UpdateRowsOp updates the rows of a variable that have a gradient.
template <typename Rule, typename Index>
class UpdateRowsOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    return context->GetAttr("T", &type_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    std::vector<Parts> variables;
    TF_RETURN_IF_ERROR(FindVariables<Rule>(context, &variables));
    UpdateRule rule;
    TF_RETURN_IF_ERROR(ReadRule<Rule>(context, &rule));
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
    TF_RETURN_IF_ERROR(MakeOwn(context, table));
    // From now on, reads of the variable copy it, so that later updates need
    // not.
    for (const VarPointer& part : table) {
      part->copy_on_read_mode.store(true);
    }
    const SortedRows sorted =
        SortRows(indices->flat<Index>().data(), indices->NumElements(),
                 table[0]->tensor()->dim_size(0) - 1);
    const std::shared_ptr<Team> team = TeamOf(context);
    CpuBackend(team.get())
        .UpdateRows(ToDType(type_), rule, ToUpdate(table, *gradient),
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

#define CAVS_REGISTER_ROWS(Op, Rule, Index)                       \
  REGISTER_KERNEL_BUILDER(Name(Op)                                \
                              .Device(tensorflow::DEVICE_CPU)     \
                              .TypeConstraint<Index>("Tindices"), \
                          GuardedSharedOp<UpdateRowsOp<Rule, Index>>)

REGISTER_KERNEL_BUILDER(Name("CavsAdam").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<UpdateOp<Adam>>);
REGISTER_KERNEL_BUILDER(Name("CavsDescent").Device(tensorflow::DEVICE_CPU),
                        GuardedSharedOp<UpdateOp<Descent>>);
CAVS_REGISTER_ROWS("CavsLazyAdam", Adam, int32_t);
CAVS_REGISTER_ROWS("CavsLazyAdam", Adam, int64_t);
CAVS_REGISTER_ROWS("CavsLazyDescent", Descent, int32_t);
CAVS_REGISTER_ROWS("CavsLazyDescent", Descent, int64_t);

#undef CAVS_REGISTER_ROWS

}  // namespace
}  // namespace cavs
