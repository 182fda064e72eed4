#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/kernels/guarded_op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow/core/util/work_sharder.h"

namespace cavs {
namespace {

using ::tensorflow::DataTypeString;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::Var;

using VarPointer = tensorflow::core::RefCountPtr<Var>;

// Variable, first moment, second moment.
constexpr int kNumVars = 3;
constexpr const char* kVars[kNumVars] = {"var", "m", "v"};

// Locks in the order of addresses, as all operators do that lock several.
class Locks {
 public:
  explicit Locks(const VarPointer (&vars)[kNumVars]) {
    for (const VarPointer& var : vars) locked_.insert(var.get());
    for (Var* var : locked_) var->mu()->lock();
  }
  ~Locks() {
    for (Var* var : locked_) var->mu()->unlock();
  }
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

// Makes the memory of a variable, which is locked, its own: later reads copy
// it, and what was read before keeps the old one.
absl::Status MakeOwn(OpKernelContext* context, Var* var) {
  if (var->copy_on_read_mode.load()) return absl::OkStatus();
  if (!var->tensor()->RefCountIsOne()) {
    Tensor copy;
    TF_RETURN_IF_ERROR(context->allocate_temp(var->tensor()->dtype(),
                                              var->tensor()->shape(), &copy));
    tensorflow::tensor::DeepCopy(*var->tensor(), &copy);
    *var->tensor() = copy;
  }
  var->copy_on_read_mode.store(true);
  return absl::OkStatus();
}

// The gradient's rows in the order of the table's, and where those of each row
// of the table begin.
struct RowsByIndex {
  std::vector<int64_t> order;
  std::vector<int64_t> splits;
};

template <typename Index>
RowsByIndex SortRows(const Index* indices, int64_t count) {
  RowsByIndex rows;
  rows.order.resize(count);
  std::iota(rows.order.begin(), rows.order.end(), 0);
  std::stable_sort(
      rows.order.begin(), rows.order.end(),
      [&](int64_t i, int64_t k) { return indices[i] < indices[k]; });
  for (int64_t i = 0; i < count; ++i) {
    if (i == 0 || indices[rows.order[i]] != indices[rows.order[i - 1]]) {
      rows.splits.push_back(i);
    }
  }
  rows.splits.push_back(count);
  return rows;
}

template <typename T, typename Index>
class LazyAdamOp {
  // Of arithmetic.
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr int64_t kColumns = 64;  // That are summed at once.

 public:
  absl::Status Init(OpKernelConstruction*) { return absl::OkStatus(); }

  absl::Status Compute(OpKernelContext* context) const {
    VarPointer vars[kNumVars];
    for (int i = 0; i < kNumVars; ++i) {
      TF_RETURN_IF_ERROR(tensorflow::LookupResource(
          context, tensorflow::HandleFromInput(context, i), &vars[i]));
    }
    const Locks locks(vars);
    TF_RETURN_IF_ERROR(Check(context, vars));
    for (const VarPointer& var : vars) {
      TF_RETURN_IF_ERROR(MakeOwn(context, var.get()));
    }
    const auto indices = context->input(8).vec<Index>();
    const RowsByIndex rows = SortRows(indices.data(), indices.size());
    const int64_t columns =
        indices.size() == 0 ? 0
                            : context->input(7).NumElements() / indices.size();
    // Allocates nothing: an exception on another thread would end the process.
    const auto update = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Span<int64_t> own = {rows.order.data() + rows.splits[i],
                                   rows.splits[i + 1] - rows.splits[i]};
        for (int64_t first = 0; first < columns; first += kColumns) {
          const int64_t count = std::min(kColumns, columns - first);
          Number gradient[kColumns];
          SumRows(context, own, columns, first, count, gradient);
          UpdateRow(context, vars, indices(own[0]) * columns + first, count,
                    gradient);
        }
      }
    };
    constexpr int64_t kCyclesPerElement = 8;
    const auto& threads = *context->device()->tensorflow_cpu_worker_threads();
    tensorflow::Shard(threads.num_threads, threads.workers,
                      static_cast<int64_t>(rows.splits.size()) - 1,
                      kCyclesPerElement * columns, update);
    return absl::OkStatus();
  }

 private:
  static absl::Status Check(OpKernelContext* context,
                            const VarPointer (&vars)[kNumVars]) {
    const tensorflow::TensorShape& shape = vars[0]->tensor()->shape();
    for (int i = 0; i < kNumVars; ++i) {
      const Tensor& own = *vars[i]->tensor();
      const bool fits = vars[i]->is_initialized && own.dims() >= 1 &&
                        own.shape() == shape &&
                        own.dtype() == tensorflow::DataTypeToEnum<T>::value;
      if (fits) continue;
      return absl::InvalidArgumentError(StrCat(
          kVars[i], ": got ", DataTypeString(own.dtype()), " ",
          own.shape().DebugString(), " but expected ",
          DataTypeString(tensorflow::DataTypeToEnum<T>::value), " ",
          shape.DebugString(),
          ", as of var, of one dimension or more. Build the optimizer with the "
          "variables that it updates."));
    }
    for (int i = kNumVars; i < 7; ++i) {
      if (context->input(i).NumElements() == 1) continue;
      return absl::InvalidArgumentError(StrCat(
          "input ", i, ": got shape ", context->input(i).shape().DebugString(),
          " but expected a scalar. Pass one number."));
    }
    const Tensor &gradient = context->input(7), &indices = context->input(8);
    tensorflow::TensorShape expected = shape;
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
      if (rows(i) >= 0 && rows(i) < shape.dim_size(0)) continue;
      return absl::InvalidArgumentError(StrCat(
          "indices[", i, "]: got ", rows(i), " but expected a row in [0, ",
          shape.dim_size(0), ") of the variable."));
    }
    return absl::OkStatus();
  }

  static void SumRows(OpKernelContext* context, const Span<int64_t>& rows,
                      int64_t columns, int64_t first, int64_t count,
                      Number* sum) {
    const T* const values = context->input(7).flat<T>().data() + first;
    for (int64_t i = 0; i < rows.size(); ++i) {
      const T* const row = values + rows[i] * columns;
      for (int64_t j = 0; j < count; ++j) {
        const auto term = static_cast<Number>(row[j]);
        sum[j] = i == 0 ? term : sum[j] + term;
      }
    }
  }

  // Updates `count` elements of the variables.
  static void UpdateRow(OpKernelContext* context,
                        const VarPointer (&vars)[kNumVars], int64_t first,
                        int64_t count, const Number* gradient) {
    const auto scalar = [&](int i) {
      return context->input(i).flat<double>()(0);
    };
    const auto rate = static_cast<Number>(scalar(3));
    const auto new_in_mean = static_cast<Number>(1 - scalar(4));
    const auto new_in_square = static_cast<Number>(1 - scalar(5));
    const auto epsilon = static_cast<Number>(scalar(6));
    T* parts[kNumVars];
    for (int i = 0; i < kNumVars; ++i) {
      parts[i] = vars[i]->tensor()->template flat<T>().data() + first;
    }
    T *const var = parts[0], *const m = parts[1], *const v = parts[2];
    for (int64_t j = 0; j < count; ++j) {
      const Number g = gradient[j];
      const Number first = static_cast<Number>(m[j]);
      const Number second = static_cast<Number>(v[j]);
      const Number mean = first + (g - first) * new_in_mean;
      const Number square = second + (g * g - second) * new_in_square;
      m[j] = static_cast<T>(mean);
      v[j] = static_cast<T>(square);
      var[j] = static_cast<T>(static_cast<Number>(var[j]) -
                              rate * mean / (std::sqrt(square) + epsilon));
    }
  }
};

#define CAVS_REGISTER_LAZY_ADAM(T)                                  \
  REGISTER_KERNEL_BUILDER(Name("CavsLazyAdam")                      \
                              .Device(tensorflow::DEVICE_CPU)       \
                              .TypeConstraint<T>("T")               \
                              .TypeConstraint<int32_t>("Tindices"), \
                          GuardedOp<LazyAdamOp<T, int32_t>>);       \
  REGISTER_KERNEL_BUILDER(Name("CavsLazyAdam")                      \
                              .Device(tensorflow::DEVICE_CPU)       \
                              .TypeConstraint<T>("T")               \
                              .TypeConstraint<int64_t>("Tindices"), \
                          GuardedOp<LazyAdamOp<T, int64_t>>)

CAVS_REGISTER_LAZY_ADAM(float);
CAVS_REGISTER_LAZY_ADAM(double);
CAVS_REGISTER_LAZY_ADAM(Eigen::bfloat16);
CAVS_REGISTER_LAZY_ADAM(Eigen::half);

#undef CAVS_REGISTER_LAZY_ADAM

}  // namespace
}  // namespace cavs
