// Updates of variables: which worker updates which elements.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

constexpr double kNanosPerElement = 0.4;
constexpr int64_t kChunk = 1024;  // Elements, of a gradient that is widened.

template <typename T>
struct VariableOf {
  T *var, *m, *v;
  const T* gradient;

  explicit VariableOf(const AdamVariable& from)
      : var(static_cast<T*>(from.var)),
        m(static_cast<T*>(from.m)),
        v(static_cast<T*>(from.v)),
        gradient(static_cast<const T*>(from.gradient)) {}
};

// Rows of a table are far apart in memory: the next one is on its way while one
// is updated.
template <typename T>
void FetchEarly(const T* row, int64_t cols) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t j = 0; j < cols; j += kLine) __builtin_prefetch(row + j, 1);
}

}  // namespace

template <typename T>
void CpuBackend::RunUpdate(const AdamRule& rule, const AdamVariable& variable,
                           Range range) const {
  const VariableOf<T> of(variable);
  for (int64_t i = range.begin; i < range.end; i += kChunk) {
    const int64_t n = std::min(kChunk, range.end - i);
    if constexpr (std::is_same_v<T, Wide<T>>) {
      kernels<T>().update_by_adam(rule, of.gradient + i, n, of.var + i,
                                  of.m + i, of.v + i);
    } else {
      Wide<T> wide[kChunk];
      kernels<T>().widen(of.gradient + i, n, wide);
      kernels<T>().update_by_adam(rule, wide, n, of.var + i, of.m + i,
                                  of.v + i);
    }
  }
}

template <typename T>
void CpuBackend::RunUpdateRows(const AdamRule& rule, const AdamVariable& table,
                               int64_t cols, const RowGroups& groups) const {
  const VariableOf<T> of(table);
  const auto update = [&](int64_t group) {
    const int64_t begin = groups.splits[group];
    const int64_t terms = groups.splits[group + 1] - begin;
    const int64_t at = groups.rows[group] * cols;
    for (int64_t first = 0; first < cols; first += kChunk) {
      const int64_t n = std::min(kChunk, cols - first);
      Wide<T> sum[kChunk];
      for (int64_t i = 0; i < terms; ++i) {
        const T* const from =
            of.gradient + groups.order[begin + i] * cols + first;
        kernels<T>().sum_rows(from, cols, 1, n, sum, /*accumulate=*/i > 0);
      }
      kernels<T>().update_by_adam(rule, sum, n, of.var + at + first,
                                  of.m + at + first, of.v + at + first);
    }
  };
  ParallelFor(workers_, groups.count, 1, kNanosPerElement * cols,
              [&](Range range) {
                for (int64_t i = range.begin; i < range.end; ++i) {
                  if (i + 1 < range.end) {
                    const int64_t next = groups.rows[i + 1] * cols;
                    FetchEarly(of.var + next, cols);
                    FetchEarly(of.m + next, cols);
                    FetchEarly(of.v + next, cols);
                  }
                  update(i);
                }
              });
}

void CpuBackend::UpdateByAdam(DType dtype, const AdamRule& rule,
                              Span<AdamVariable> variables) const {
  int64_t all = 0;
  for (int64_t i = 0; i < variables.size(); ++i) all += variables[i].size;
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int64_t kLine = 64 / sizeof(T);
    ParallelFor(workers_, all, kLine, kNanosPerElement, [&](Range range) {
      int64_t first = 0;  // Of the variable, among all elements.
      for (int64_t i = 0; i < variables.size(); ++i) {
        const int64_t size = variables[i].size;
        const Range own = {std::max<int64_t>(range.begin - first, 0),
                           std::min(range.end - first, size)};
        RunUpdate<T>(rule, variables[i], own);
        first += size;
      }
    });
  });
}

void CpuBackend::UpdateRowsByAdam(DType dtype, const AdamRule& rule,
                                  const AdamVariable& table, int64_t cols,
                                  const RowGroups& groups) const {
  WithFloatType(dtype, [&](auto zero) {
    RunUpdateRows<decltype(zero)>(rule, table, cols, groups);
  });
}

}  // namespace cavs
