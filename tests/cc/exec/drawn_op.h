// Stand-ins for operators of a framework.
#ifndef CAVS_TESTS_CC_EXEC_DRAWN_OP_H_
#define CAVS_TESTS_CC_EXEC_DRAWN_OP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/ir/foreign_op.h"

namespace cavs {

using Numbers = std::vector<double>;

// A number of an operand. Types that are not native to the library are stored
// as doubles.
inline double ReadNumber(DType dtype, const void* data, int64_t i) {
  if (dtype == DType::kInt32) return static_cast<const int32_t*>(data)[i];
  if (!IsNative(dtype)) dtype = DType::kFloat64;
  double value = 0;
  WithFloatType(dtype, [&](auto zero) {
    value = ToWide(static_cast<const decltype(zero)*>(data)[i]);
  });
  return value;
}

inline void WriteNumber(DType dtype, double value, void* data, int64_t i) {
  if (!IsNative(dtype)) dtype = DType::kFloat64;
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    static_cast<T*>(data)[i] = FromWide<T>(static_cast<Wide<T>>(value));
  });
}

// Computes one row at a time, or one whole tensor without rows, so that an
// oracle can call it for a single vertex. Rows may be strided; an opaque value
// holds all rows of its task. A result without rows is a sum if operands have
// rows.
class DrawnOp : public ForeignOp {
 public:
  using Function = std::function<Numbers(const std::vector<Numbers>&)>;

  explicit DrawnOp(Function row) : row_(std::move(row)) {}

  Numbers Row(const std::vector<Numbers>& inputs) const { return row_(inputs); }

  Status Run(void*, const std::vector<TensorRef>& inputs,
             std::vector<TensorRef>* outputs) const override {
    int64_t rows = -1;  // -1: no operand has rows.
    for (const TensorRef& ref : inputs) {
      if (ref.opaque && ref.handle == nullptr) {
        return Internal("read before it was made");
      }
      if (ref.opaque) rows = Opened(ref).size();
      if (ref.pitch > 0) rows = ref.shape[0];
    }
    std::vector<Numbers> results;
    for (int64_t i = 0; i < (rows < 0 ? 1 : rows); ++i) {
      std::vector<Numbers> operands;
      for (const TensorRef& ref : inputs) operands.push_back(Read(ref, i));
      results.push_back(row_(operands));
    }
    Write(results, &outputs->at(0));
    return Status();
  }

 private:
  using Box = std::vector<Numbers>;

  static const Box& Opened(const TensorRef& ref) {
    return *static_cast<const Box*>(ref.handle.get());
  }

  static Numbers Read(const TensorRef& ref, int64_t row) {
    if (ref.opaque) return Opened(ref)[row];
    const bool has_rows = ref.pitch > 0;
    int64_t n = 1;
    for (size_t d = has_rows; d < ref.shape.size(); ++d) n *= ref.shape[d];
    Numbers numbers;
    for (int64_t j = 0; j < n; ++j) {
      numbers.push_back(
          ReadNumber(ref.dtype, ref.data, has_rows ? row * ref.pitch + j : j));
    }
    return numbers;
  }

  static void Write(const Box& results, TensorRef* ref) {
    if (ref->opaque) {
      ref->handle = std::make_shared<Box>(results);
    } else if (ref->pitch > 0) {
      for (size_t i = 0; i < results.size(); ++i) {
        for (size_t j = 0; j < results[i].size(); ++j) {
          WriteNumber(ref->dtype, results[i][j], ref->data, i * ref->pitch + j);
        }
      }
    } else {
      Numbers sum = results.at(0);
      for (size_t i = 1; i < results.size(); ++i) {
        for (size_t j = 0; j < sum.size(); ++j) sum[j] += results[i][j];
      }
      if (ref->data == nullptr) {  // An opaque value.
        auto memory = std::make_shared<Numbers>(sum.size());
        ref->data = memory->data();
        ref->handle = std::move(memory);
        ref->shape = {static_cast<int64_t>(sum.size())};
      }
      for (size_t j = 0; j < sum.size(); ++j) {
        WriteNumber(ref->dtype, sum[j], ref->data, j);
      }
    }
  }

  const Function row_;
};

inline std::shared_ptr<DrawnOp> MakeOp(DrawnOp::Function row) {
  return std::make_shared<DrawnOp>(std::move(row));
}

// Computes the sum of its operands.
inline std::shared_ptr<DrawnOp> AddOp() {
  return MakeOp([](const std::vector<Numbers>& inputs) {
    Numbers sum = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) {
      for (size_t j = 0; j < sum.size(); ++j) sum[j] += inputs[i][j];
    }
    return sum;
  });
}

// Returns the first operand. The result, the operand or both may be opaque.
inline std::shared_ptr<DrawnOp> CopyOp() {
  return MakeOp([](const std::vector<Numbers>& inputs) { return inputs[0]; });
}

// Element j of the result is half the sum of elements 0 to j: not elementwise.
inline std::shared_ptr<DrawnOp> RunningSumOp() {
  return MakeOp([](const std::vector<Numbers>& inputs) {
    Numbers result;
    double sum = 0;
    for (double x : inputs[0]) result.push_back(0.5 * (sum += x));
    return result;
  });
}

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_DRAWN_OP_H_
