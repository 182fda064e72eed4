// Losses: which worker computes those of which rows.
#include <cassert>
#include <vector>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerElement = 1;

}  // namespace

template <typename T>
void CpuBackend::RunCrossEntropy(ConstBlock logits, const int32_t* labels,
                                 T* loss, T* gradient) const {
  const KernelTable<T>& table = kernels<T>();
  const int64_t cols = logits.cols;
  ParallelFor(workers_, logits.rows, table.lanes, kNanosPerElement * cols,
              [&](Range range) {
                std::vector<T> scratch(table.lanes * cols);
                const int64_t at = range.begin * cols;
                table.cross_entropy(
                    static_cast<const T*>(logits.data) + at,
                    labels + range.begin, range.end - range.begin, cols,
                    loss + range.begin, gradient + at, scratch.data());
              });
}

void CpuBackend::CrossEntropy(DType dtype, ConstBlock logits,
                              const int32_t* labels, void* loss,
                              void* gradient) const {
  assert(logits.cols > 0 && logits.pitch == logits.cols);
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!kIsNarrow<T>) {
      RunCrossEntropy(logits, labels, static_cast<T*>(loss),
                      static_cast<T*>(gradient));
    }
  });
}

}  // namespace cavs
