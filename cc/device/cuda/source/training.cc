#include "cc/device/cuda/source/training.h"

#include "cc/base/status.h"
#include "cc/device/cuda/source/kernels.h"

namespace cavs {
namespace {

// kMostUpdated, kUpdatedOfBlock and kThreads are defined before.
constexpr char kKernels[] = R"(
typedef Wide<T> W;

// A step of Adam behind so many `steps`, or, if `steps` is null, of gradient
// descent. The numbers are in memory of the GPU, so that the host need not wait
// for them.
struct Rule {
  Global<const double> rate;
  Global<const i64> steps;
  Global<const double> beta1, beta2, epsilon;
};
// What threads need of a rule. The rate has the correction of the bias of the
// moments.
struct Numbers {
  W rate, new_in_mean, new_in_square, epsilon;
};
FUNCTION double power(double x, i64 n) {
  double result = 1;
  for (; n > 0; n >>= 1) {
    if (n & 1) result = result * x;
    x = x * x;
  }
  return result;
}
// One thread of a block computes the numbers for all.
FUNCTION Numbers read_rule(const Rule& rule, Shared<W> shared) {
  if (thread_index() == 0) {
    double rate = rule.rate[0];
    if (rule.steps) {
      const double beta1 = rule.beta1[0], beta2 = rule.beta2[0];
      const i64 n = rule.steps[0] + 1;
      rate = rate * sqrt(1 - power(beta2, n)) / (1 - power(beta1, n));
      const double epsilon = rule.epsilon[0];
      shared[1] = static_cast<W>(1 - beta1);
      shared[2] = static_cast<W>(1 - beta2);
      shared[3] = static_cast<W>(epsilon);
    }
    shared[0] = static_cast<W>(rate);
  }
  barrier();
  Numbers own;
  own.rate = shared[0];
  if (rule.steps) {
    own.new_in_mean = shared[1];
    own.new_in_square = shared[2];
    own.epsilon = shared[3];
  }
  return own;
}

// A variable, or the rows of it with these numbers, which are distinct. The
// blocks from first_block on, up to that of the next variable, update it.
struct Updated {
  Global<T> var, m, v;
  Global<const T> gradient;
  Global<const int> rows;
  i64 size;  // Elements of the gradient.
  i64 columns;
  int first_block;
};
struct UpdateArgs {
  Rule rule;
  i64 count;
  Updated variables[kMostUpdated];
};
FUNCTION void update(const UpdateArgs& a, const Where& at) {
  const Numbers rule = read_rule(a.rule, cast<W>(at.memory));
  int number = 0;
  while (number + 1 < a.count && a.variables[number + 1].first_block <= at.x) {
    ++number;
  }
  const Updated& own = a.variables[number];
  const i64 first = static_cast<i64>(at.x - own.first_block) * kUpdatedOfBlock;
#pragma unroll
  for (int part = 0; part < kUpdatedOfBlock; part += kThreads) {
    const i64 i = first + part + thread_index();
    if (i >= own.size) return;
    i64 to = i;
    if (own.rows) {
      const i64 row = i / own.columns;
      to = own.rows[row] * own.columns + (i - row * own.columns);
    }
    const T term = own.gradient[i], before = own.var[to];
    const W g = to_wide(term);
    W change = rule.rate * g;
    if (own.m) {
      const T mean_before = own.m[to], square_before = own.v[to];
      W mean = to_wide(mean_before), square = to_wide(square_before);
      mean = mean + (g - mean) * rule.new_in_mean;
      square = square + (g * g - square) * rule.new_in_square;
      own.m[to] = from_wide<T>(mean);
      own.v[to] = from_wide<T>(square);
      change = rule.rate * mean / (sqrt(square) + rule.epsilon);
    }
    own.var[to] = from_wide<T>(to_wide(before) - change);
  }
}

// The loss of each row of logits, and its gradient: the softmax, minus 1 at the
// label. There are few classes, so that a thread takes a row.
struct CrossEntropyArgs {
  Global<const T> logits;
  Global<const int> labels;
  Global<T> loss, gradient;
  i64 rows;
  int classes;
};
FUNCTION void cross_entropy(const CrossEntropyArgs& a, const Where& at) {
  const i64 r = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (r >= a.rows) return;
  Global<const T> logits = a.logits + r * a.classes;
  const T first = logits[0];
  W most = to_wide(first);
  for (int c = 1; c < a.classes; ++c) {
    const T own = logits[c];
    most = to_wide(own) > most ? to_wide(own) : most;
  }
  W sum = W(0);
  for (int c = 0; c < a.classes; ++c) {
    const T own = logits[c];
    sum = sum + exp(to_wide(own) - most);
  }
  const int label = a.labels[r];
  const W scale = W(1) / sum;
  Global<T> gradient = a.gradient + r * a.classes;
  for (int c = 0; c < a.classes; ++c) {
    const T own = logits[c];
    W softmax = exp(to_wide(own) - most) * scale;
    if (c == label) softmax = softmax - W(1);
    gradient[c] = from_wide<T>(softmax);
  }
  const T of_label = logits[label];
  a.loss[r] = from_wide<T>(log(sum) - (to_wide(of_label) - most));
}

// Row r of `to` becomes row r of `from`, times factors[r].
struct ScaleArgs {
  Global<const T> from, factors;
  Global<T> to;
  i64 rows, columns;
};
FUNCTION void scale_rows(const ScaleArgs& a, const Where& at) {
  const i64 i = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (i >= a.rows * a.columns) return;
  const T own = a.from[i], factor = a.factors[i / a.columns];
  a.to[i] = from_wide<T>(to_wide(own) * to_wide(factor));
}
)";

}  // namespace

std::shared_ptr<const CudaText> TextOfTraining(DType dtype) {
  return std::make_shared<CudaText>(CudaText{
      StrCat("typedef ", CudaTypeName(dtype), " T;\nenum { kMostUpdated = ",
             kCudaMostUpdated, ", kUpdatedOfBlock = ", kCudaUpdatedOfBlock,
             ", kThreads = ", kCudaThreads, " };\n", kKernels),
      {{"update", "UpdateArgs", "update(a, at)"},
       {"cross_entropy", "CrossEntropyArgs", "cross_entropy(a, at)"},
       {"scale_rows", "ScaleArgs", "scale_rows(a, at)"}}});
}

}  // namespace cavs
