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
class Elements {
 public:
  Elements(const KernelTable<T>& kernels, const UpdateRule& rule,
           const UpdatedVariable& of)
      : kernels_(kernels),
        rule_(rule),
        parts_{static_cast<T*>(of.var), static_cast<T*>(of.m),
               static_cast<T*>(of.v)},
        gradient_(static_cast<const T*>(of.gradient)) {}

  // The elements of the whole gradient.
  const T* gradient() const { return gradient_; }

  // Updates n elements from `first` on.
  void Update(const Wide<T>* gradient, int64_t first, int64_t n) const {
    kernels_.update(rule_, gradient, n, parts_[0] + first, Part(1, first),
                    Part(2, first));
  }

  // Rows of a table are far apart in memory: the next ones are on their way
  // while some are updated.
  void FetchEarly(int64_t first, int64_t n) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    for (const T* part : parts_) {
      if (part == nullptr) continue;
      for (int64_t j = 0; j < n; j += kLine) {
        __builtin_prefetch(part + first + j, 1);
      }
    }
  }

 private:
  T* Part(int i, int64_t first) const {
    return parts_[i] == nullptr ? nullptr : parts_[i] + first;
  }

  const KernelTable<T>& kernels_;
  const UpdateRule& rule_;
  T* const parts_[3];
  const T* const gradient_;
};

}  // namespace

template <typename T>
void CpuBackend::RunUpdate(const UpdateRule& rule,
                           const UpdatedVariable& variable, Range range) const {
  const Elements<T> elements(kernels<T>(), rule, variable);
  for (int64_t i = range.begin; i < range.end; i += kChunk) {
    const int64_t n = std::min(kChunk, range.end - i);
    if constexpr (std::is_same_v<T, Wide<T>>) {
      elements.Update(elements.gradient() + i, i, n);
    } else {
      Wide<T> wide[kChunk];
      kernels<T>().widen(elements.gradient() + i, n, wide);
      elements.Update(wide, i, n);
    }
  }
}

// Some columns of the sum of a group, in the order of its rows. These may lie
// anywhere: the next ones are on their way while some are added.
template <typename T>
void CpuBackend::AddGroup(const T* gradient, int64_t cols,
                          const RowGroups& groups, int64_t group, Range columns,
                          Wide<T>* sum) const {
  constexpr int64_t kAhead = 4, kLine = 64 / sizeof(T);
  const int64_t begin = groups.splits[group], end = groups.splits[group + 1];
  const int64_t all = groups.splits[groups.count];
  const int64_t n = columns.end - columns.begin;
  const T* const from = gradient + columns.begin;
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < all) {
      const T* const next = from + groups.order[i + kAhead] * cols;
      for (int64_t j = 0; j < n; j += kLine) __builtin_prefetch(next + j);
    }
    kernels<T>().sum_rows(from + groups.order[i] * cols, cols, 1, n, sum,
                          /*accumulate=*/i > begin);
  }
}

template <typename T>
void CpuBackend::RunSumGroups(const T* gradient, int64_t cols,
                              const RowGroups& groups, T* sums) const {
  const auto add = [&](int64_t group, Range columns) {
    T* const to = sums + group * cols + columns.begin;
    if constexpr (std::is_same_v<T, Wide<T>>) {
      AddGroup(gradient, cols, groups, group, columns, to);
    } else {
      Wide<T> sum[kChunk];
      AddGroup(gradient, cols, groups, group, columns, sum);
      kernels<T>().narrow(sum, columns.end - columns.begin, to);
    }
  };
  ParallelFor(workers_, groups.count, 1, kNanosPerElement * cols,
              [&](Range range) {
                for (int64_t i = range.begin; i < range.end; ++i) {
                  for (int64_t first = 0; first < cols; first += kChunk) {
                    add(i, {first, std::min(cols, first + kChunk)});
                  }
                }
              });
}

template <typename T>
void CpuBackend::RunUpdateRows(const UpdateRule& rule,
                               const UpdatedVariable& table, int64_t cols,
                               const RowGroups& groups) const {
  const Elements<T> elements(kernels<T>(), rule, table);
  const auto update = [&](int64_t group) {
    for (int64_t first = 0; first < cols; first += kChunk) {
      const int64_t n = std::min(kChunk, cols - first);
      Wide<T> sum[kChunk];
      AddGroup(elements.gradient(), cols, groups, group, {first, first + n},
               sum);
      elements.Update(sum, groups.rows[group] * cols + first, n);
    }
  };
  constexpr int64_t kAhead = 2;  // Rows.
  ParallelFor(workers_, groups.count, 1, kNanosPerElement * cols,
              [&](Range range) {
                for (int64_t i = range.begin; i < range.end; ++i) {
                  if (i + kAhead < range.end) {
                    elements.FetchEarly(groups.rows[i + kAhead] * cols, cols);
                  }
                  update(i);
                }
              });
}

void CpuBackend::Update(DType dtype, const UpdateRule& rule,
                        Span<UpdatedVariable> variables) const {
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

void CpuBackend::SumGroups(DType dtype, const void* gradient, int64_t cols,
                           const RowGroups& groups, void* sums) const {
  WithFloatType(dtype, [&](auto zero) {
    using T = decltype(zero);
    RunSumGroups(static_cast<const T*>(gradient), cols, groups,
                 static_cast<T*>(sums));
  });
}

void CpuBackend::UpdateRows(DType dtype, const UpdateRule& rule,
                            const UpdatedVariable& table, int64_t cols,
                            const RowGroups& groups) const {
  WithFloatType(dtype, [&](auto zero) {
    RunUpdateRows<decltype(zero)>(rule, table, cols, groups);
  });
}

}  // namespace cavs
