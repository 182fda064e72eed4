// cuBLASLt: the functions that products use. What it is handed has to fit
// together; products are formed late, as kernels run.
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/cc/cuda/fake/entry.h"

namespace cavs_fake {
namespace {

enum Status : int {
  kNotInitializedYet = 1,
  kInvalid = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};
enum Type : int { kFloat = 0, kDouble = 1, kHalf = 2, kBFloat = 14 };
enum Compute : int { kInFloat = 68, kInDouble = 70, kInTf32 = 77 };

struct Operation {
  int compute, scale;
  int32_t transpose[2] = {0, 0};
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t pitch;

  bool operator==(const Layout& other) const {
    return type == other.type && rows == other.rows &&
           columns == other.columns && pitch == other.pitch;
  }
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};
};
// What fits into the library's 64 bytes: all that an algorithm is chosen by.
struct Algorithm {
  uint64_t shape, workspace;
  uint32_t alignments[4];
  uint64_t unused[4];
};
struct Found {
  Algorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Algorithm) == 64 && sizeof(Found) == 96);

size_t SizeOf(int type) { return type == kDouble ? 8 : type == kFloat ? 4 : 2; }

template <typename T>
double Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}
double Load(int type, const char* at) {
  if (type == kDouble) return Load<double>(at);
  if (type == kFloat) return Load<float>(at);
  if (type == kHalf) return Load<_Float16>(at);
  const uint32_t bits = static_cast<uint32_t>(Load<uint16_t>(at)) << 16;
  return Load<float>(reinterpret_cast<const char*>(&bits));
}
template <typename T>
void Store(T value, char* at) {
  std::memcpy(at, &value, sizeof(T));
}
void Store(int type, double value, char* at) {
  if (type == kDouble) return Store(value, at);
  if (type == kFloat) return Store(static_cast<float>(value), at);
  if (type == kHalf) return Store(static_cast<_Float16>(value), at);
  const auto narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof(bits));
  if (!std::isnan(narrow)) bits += 0x7fff + (bits >> 16 & 1);
  Store(static_cast<uint16_t>(bits >> 16), at);
}

// Rounded to 10 bits of fraction.
double AsTf32(double value) {
  const auto narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof(bits));
  if (std::isfinite(narrow)) bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  return Load<float>(reinterpret_cast<const char*>(&bits));
}

// Whether operands and result are of one shape, and of types that there are.
bool Fits(const Operation& op, const Layout& a, const Layout& b,
          const Layout& to) {
  const auto size = [&](const Layout& own, int operand, bool second) {
    return (op.transpose[operand] != 0) != second ? own.columns : own.rows;
  };
  const bool wide = a.type == kDouble;
  const bool same_type =
      a.type == b.type && (to.type == a.type || (!wide && to.type == kFloat));
  const bool computes = wide                    ? op.compute == kInDouble
                        : op.compute == kInTf32 ? a.type == kFloat
                                                : op.compute == kInFloat;
  return same_type && computes && op.scale == (wide ? kDouble : kFloat) &&
         size(a, 0, false) == to.rows && size(b, 1, true) == to.columns &&
         size(a, 0, true) == size(b, 1, false);
}

uint64_t NumberOf(const Operation& op, const Layout& a, const Layout& b,
                  const Layout& to) {
  uint64_t number = 17;
  const auto add = [&number](uint64_t part) { number = number * 31 + part; };
  add(op.compute), add(op.transpose[0]), add(op.transpose[1]);
  for (const Layout* own : {&a, &b, &to}) {
    add(own->type), add(own->rows), add(own->columns), add(own->pitch);
  }
  return number;
}

struct Matrix {
  Layout layout;
  char* data;

  size_t bytes() const {
    return ((layout.columns - 1) * layout.pitch + layout.rows) *
           SizeOf(layout.type);
  }
  char* at(uint64_t row, uint64_t column) const {
    return data + (column * layout.pitch + row) * SizeOf(layout.type);
  }
  // By columns, or, transposed, by rows.
  std::vector<double> Numbers(bool transpose, bool tf32) const {
    std::vector<double> numbers;
    const uint64_t outer = transpose ? layout.rows : layout.columns;
    const uint64_t inner = transpose ? layout.columns : layout.rows;
    for (uint64_t j = 0; j < outer; ++j) {
      for (uint64_t i = 0; i < inner; ++i) {
        const double own = Load(layout.type, transpose ? at(j, i) : at(i, j));
        numbers.push_back(tf32 ? AsTf32(own) : own);
      }
    }
    return numbers;
  }
};

Matrix MatrixAt(const Layout& layout, const void* address) {
  const auto behind = reinterpret_cast<uintptr_t>(address) &
                      ((uintptr_t{1} << kDeviceShift) - 1);
  return {layout, reinterpret_cast<char*>(behind)};
}

void Multiply(const Operation& op, const Matrix& a, const Matrix& b,
              const Matrix& to, double beta) {
  const bool tf32 = op.compute == kInTf32;
  const uint64_t m = to.layout.rows;
  const std::vector<double> x = a.Numbers(op.transpose[0] != 0, tf32);
  const std::vector<double> y = b.Numbers(op.transpose[1] != 0, tf32);
  const uint64_t k = x.size() / m;
  std::vector<double> sums(m);
  for (uint64_t j = 0; j < to.layout.columns; ++j) {
    std::fill(sums.begin(), sums.end(), 0);
    for (uint64_t l = 0; l < k; ++l) {
      for (uint64_t i = 0; i < m; ++i) sums[i] += x[l * m + i] * y[j * k + l];
    }
    for (uint64_t i = 0; i < m; ++i) {
      char* const at = to.at(i, j);
      if (beta != 0) sums[i] += beta * Load(to.layout.type, at);
      Store(to.layout.type, sums[i], at);
    }
  }
}

template <typename T>
int SetAttribute(T* of, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return kInvalid;
  std::memcpy(of, value, bytes);
  return 0;
}

bool IsAligned(const void* at, size_t bytes) {
  return reinterpret_cast<uintptr_t>(at) % bytes == 0;
}

}  // namespace

CAVS_FAKE(cublasLtCreate, Context** handle) {
  BEGIN(Needs::kContext);
  *handle = call.context;
  return 0;
}

CAVS_FAKE(cublasLtDestroy, Context*) {
  BEGIN(Needs::kContext);
  return 0;
}

extern "C" __attribute__((visibility("default"))) const char*
cublasLtGetStatusName(int status) {
  switch (status) {
    case kNotInitializedYet:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kInvalid:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case kExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "an unknown status";
  }
}

CAVS_FAKE(cublasLtMatmulDescCreate, Operation** made, int compute, int scale) {
  *made = new Operation{compute, scale};
  return 0;
}

CAVS_FAKE(cublasLtMatmulDescSetAttribute, Operation* of, int attribute,
          const void* value, size_t bytes) {
  BEGIN(Needs::kNothing);
  if (attribute != 3 && attribute != 4) return kInvalid;
  return SetAttribute(&of->transpose[attribute - 3], value, bytes);
}

CAVS_FAKE(cublasLtMatmulDescDestroy, Operation* made) {
  delete made;
  return 0;
}

CAVS_FAKE(cublasLtMatrixLayoutCreate, Layout** made, int type, uint64_t rows,
          uint64_t columns, int64_t pitch) {
  if (rows == 0 || columns == 0 || pitch < int64_t(rows)) return kInvalid;
  *made = new Layout{type, rows, columns, pitch};
  return 0;
}

CAVS_FAKE(cublasLtMatrixLayoutDestroy, Layout* made) {
  delete made;
  return 0;
}

CAVS_FAKE(cublasLtMatmulPreferenceCreate, Preference** made) {
  *made = new Preference();
  return 0;
}

CAVS_FAKE(cublasLtMatmulPreferenceSetAttribute, Preference* of, int attribute,
          const void* value, size_t bytes) {
  if (attribute == 1) return SetAttribute(&of->workspace, value, bytes);
  if (attribute == 3) return SetAttribute(&of->reductions, value, bytes);
  if (attribute < 5 || attribute > 8) return kInvalid;
  return SetAttribute(&of->alignments[attribute - 5], value, bytes);
}

CAVS_FAKE(cublasLtMatmulPreferenceDestroy, Preference* made) {
  delete made;
  return 0;
}

// An algorithm that adds in place, in the type of the result, or needs all of
// the workspace, is not what was asked for.
CAVS_FAKE(cublasLtMatmulAlgoGetHeuristic, Context* handle, const Operation* op,
          const Layout* a, const Layout* b, const Layout* c, const Layout* d,
          const Preference* preference, int most, Found* found, int* count) {
  BEGIN(Needs::kContext);
  *count = 0;
  if (handle != call.context || most < 1 || !(*c == *d) ||
      !Fits(*op, *a, *b, *d) || preference->reductions != 2) {
    return m.Refuse(kInvalid, "cuBLASLt: matrices that do not fit together");
  }
  *found = {};
  found->algorithm.shape = NumberOf(*op, *a, *b, *d);
  found->algorithm.workspace = preference->workspace;
  std::memcpy(found->algorithm.alignments, preference->alignments,
              sizeof(preference->alignments));
  found->workspace = preference->workspace;
  *count = 1;
  return 0;
}

CAVS_FAKE(cublasLtMatmul, Context* handle, const Operation* op,
          const void* alpha, const void* a, const Layout* a_layout,
          const void* b, const Layout* b_layout, const void* beta,
          const void* c, const Layout* c_layout, void* d,
          const Layout* d_layout, const Algorithm* algorithm, void* workspace,
          size_t workspace_bytes, void* stream_handle) {
  BEGIN(Needs::kContext);
  const auto refuse = [&m](const char* text) {
    return m.Refuse(kInvalid, std::string("cuBLASLt: ") + text);
  };
  const auto stream = m.FindStream(stream_handle);
  if (stream == nullptr || stream->context != handle ||
      handle != call.context) {
    return refuse("a stream of another context");
  }
  if (c != d || !(*c_layout == *d_layout)) return refuse("two results");
  if (algorithm->shape != NumberOf(*op, *a_layout, *b_layout, *d_layout)) {
    return refuse("an algorithm of another shape");
  }
  const void* const places[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (!IsAligned(places[i], algorithm->alignments[i])) {
      return refuse("a matrix that is not aligned");
    }
  }
  if (workspace_bytes < algorithm->workspace || !IsAligned(workspace, 256)) {
    return refuse("a workspace that is too small or not aligned");
  }
  const bool wide = op->scale == kDouble;
  const auto number = [wide](const void* at) {
    return wide ? *static_cast<const double*>(at)
                : *static_cast<const float*>(at);
  };
  if (number(alpha) != 1) return refuse("a factor");
  const Matrix x = MatrixAt(*a_layout, a), y = MatrixAt(*b_layout, b),
               to = MatrixAt(*d_layout, d);
  void* const space = MatrixAt(*d_layout, workspace).data;
  return m.Put(call.lock, *stream,
               [&m, own = *op, x, y, to, space, workspace_bytes,
                factor = number(beta)](Lock&) -> Fault {
                 if (!m.memory.Inside(x.data, x.bytes()) ||
                     !m.memory.Inside(y.data, y.bytes()) ||
                     !m.memory.Inside(to.data, to.bytes()) ||
                     !m.memory.Inside(space, workspace_bytes)) {
                   return {kIllegalAddress, "cuBLASLt: memory out of bounds"};
                 }
                 if (m.Option("compute") == 0) return {};
                 std::memset(space, 0x5a, workspace_bytes);
                 Multiply(own, x, y, to, factor);
                 return {};
               });
}

}  // namespace cavs_fake
