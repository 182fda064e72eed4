#include "cc/device/cuda/cuda_kernels.h"

#include <algorithm>
#include <utility>

#include "cc/device/cuda/source/kernels.h"

namespace cavs {
namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kMostGridY = 65535;
// Up to so many rows, a product is bound by the time until its operands are
// there, so that many small tiles are faster than few large ones.
constexpr int64_t kFewRows = 128;
constexpr size_t kMostWeights = 16;  // Of a launch.
// A part of a sum over rows has at least so many rows.
constexpr int64_t kFewestRowsOfPart = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

CudaGrid Flat(int64_t n) {
  CudaGrid grid;
  grid.x = static_cast<unsigned>(CeilDiv(n, kThreads));
  return grid;
}

// The arguments of kernels, as their texts declare them.
struct Rows {
  const void* data;
  const int32_t* index;
  int64_t pitch;

  Rows() : Rows(ConstBlock()) {}
  explicit Rows(const ConstBlock& block)
      : data(block.data), index(block.index), pitch(block.pitch) {}
};
struct MoveArgs {
  const void* from;
  const int32_t* via;
  int64_t first_via;
  const int32_t* from_index;
  int64_t from_pitch;
  void* to;
  const int32_t* to_index;
  int64_t to_pitch;
  int64_t rows, columns;
  int shift;
};
struct ProductArgs {
  Rows from;
  void* to;
  int64_t to_pitch;
  int64_t rows;
  int depth;
  int accumulate;
  int num_weights;
  struct Weight {
    const void* data;
    int64_t pitch;
    int width, first, first_block;
  } weights[kMostWeights];
};
struct SumArgs {
  Rows x, y;
  int x_columns, y_columns;
  int64_t rows, rows_per_part;
  void* to;
  int accumulate;
};
struct PartsArgs {
  const void* parts;
  void* to;
  int64_t n;
  int num_parts, accumulate;
};
struct AddRowsArgs {
  const void* from;
  int64_t from_pitch;
  void* to;
  int64_t to_pitch;
  const int32_t* target;
  int64_t rows, columns;
};
struct ColumnsArgs {
  Rows from;
  void* to;
  int64_t to_pitch, rows, columns;
};
struct EdgesArgs {
  Rows from;
  void* to;
  int64_t to_pitch;
  const int32_t* splits;
  int64_t first_edge, rows, columns;
  int shift;
};
struct MaskArgs {
  const void* from;
  const int32_t* index;
  int64_t from_pitch;
  void* to;
  int64_t to_pitch, rows, columns;
};
struct FlatArgs {
  const void* narrow;
  void* rounded;
  void* wide;
  uint32_t* raised;
  int64_t n;
};

// Whether rows can be read four elements at a time.
bool IsAligned(DType dtype, const void* data, int64_t pitch) {
  return reinterpret_cast<uintptr_t>(data) % (4 * SizeOf(dtype)) == 0 &&
         pitch % 4 == 0;
}

}  // namespace

CudaRowGrid GridOverRows(int64_t rows, int64_t columns) {
  CudaRowGrid own;
  while (own.shift < 8 && (int64_t{1} << own.shift) < columns) ++own.shift;
  own.grid.x = static_cast<unsigned>(CeilDiv(columns, int64_t{1} << own.shift));
  own.grid.y = static_cast<unsigned>(
      std::min(kMostGridY, CeilDiv(rows, kThreads >> own.shift)));
  return own;
}

CudaKernels::CudaKernels(std::shared_ptr<const CudaContext> context)
    : context_(context),
      pinned_(std::move(context)),
      moves_(TextOfMoves()),
      texts_([] {
        std::array<std::string, FloatTypes::kSize> texts;
        for (size_t i = 0; i < texts.size(); ++i) {
          texts[i] = TextOfKernels(FloatTypes::kDTypes[i]);
        }
        return texts;
      }()) {}

template <typename Arguments>
Status CudaKernels::Launch(DType dtype, const std::string& kernel,
                           const CudaGrid& grid, CudaStreamHandle stream,
                           const Arguments& arguments) const {
  const size_t number = std::find(std::begin(FloatTypes::kDTypes),
                                  std::end(FloatTypes::kDTypes), dtype) -
                        std::begin(FloatTypes::kDTypes);
  CudaFunction function;
  CAVS_RETURN_IF_ERROR(context_->Find(texts_[number], kernel, &function));
  return context_->Launch(function, grid, stream, arguments);
}

Status CudaKernels::Move(size_t size, const ConstBlock& from, const Block& to,
                         const int32_t* to_index,
                         CudaStreamHandle stream) const {
  return MoveRows(size, from, nullptr, 0, to, to_index, stream);
}

Status CudaKernels::Spread(size_t size, const ConstBlock& from,
                           const int32_t* via, int64_t first_via,
                           const Block& to, CudaStreamHandle stream) const {
  return MoveRows(size, from, via, first_via, to, nullptr, stream);
}

// In the largest units that fit.
Status CudaKernels::MoveRows(size_t size, const ConstBlock& from,
                             const int32_t* via, int64_t first_via,
                             const Block& to, const int32_t* to_index,
                             CudaStreamHandle stream) const {
  if (to.rows == 0 || to.cols == 0) return Status();
  const uint64_t bytes = (reinterpret_cast<uintptr_t>(from.data) |
                          reinterpret_cast<uintptr_t>(to.data) |
                          static_cast<uint64_t>(from.pitch) * size |
                          static_cast<uint64_t>(to.pitch) * size |
                          static_cast<uint64_t>(to.cols) * size) |
                         16;
  const int64_t unit = static_cast<int64_t>(bytes & (~bytes + 1));
  const auto units = [&](int64_t elements) {
    return elements * static_cast<int64_t>(size) / unit;
  };
  const CudaRowGrid own = GridOverRows(to.rows, units(to.cols));
  const MoveArgs arguments = {
      from.data, via,      first_via,       from.index, units(from.pitch),
      to.data,   to_index, units(to.pitch), to.rows,    units(to.cols),
      own.shift};
  CudaFunction function;
  CAVS_RETURN_IF_ERROR(context_->Find(moves_, StrCat("move", unit), &function));
  return context_->Launch(function, own.grid, stream, arguments);
}

Status CudaKernels::AddRows(DType dtype, const ConstBlock& from,
                            const int32_t* target, const Block& to,
                            CudaStreamHandle stream) const {
  CudaGrid grid;
  grid.x = static_cast<unsigned>(CeilDiv(from.rows, 8));
  const AddRowsArgs arguments = {from.data, from.pitch, to.data,  to.pitch,
                                 target,    from.rows,  from.cols};
  return Launch(dtype, "add_rows", grid, stream, arguments);
}

Status CudaKernels::Multiply(DType dtype, const ConstBlock& from,
                             const std::vector<CudaWeight>& weights,
                             bool transpose, bool accumulate, const Block& to,
                             CudaStreamHandle stream) const {
  if (from.rows == 0) return Status();
  const bool few = from.rows <= kFewRows;
  const int64_t tile = few ? 32 : 64;
  int64_t first = 0;
  for (size_t begin = 0; begin < weights.size(); begin += kMostWeights) {
    const size_t end = std::min(weights.size(), begin + kMostWeights);
    ProductArgs arguments = {};
    arguments.from = Rows(from);
    arguments.to = to.data;
    arguments.to_pitch = to.pitch;
    arguments.rows = from.rows;
    arguments.depth = static_cast<int>(from.cols);
    arguments.accumulate = accumulate;
    arguments.num_weights = static_cast<int>(end - begin);
    bool vector = from.cols % 4 == 0 && IsAligned(dtype, from.data, from.pitch);
    int64_t blocks = 0;
    for (size_t i = begin; i < end; ++i) {
      const CudaWeight& w = weights[i];
      vector = vector && IsAligned(dtype, w.data, w.pitch) &&
               (transpose || w.width % 4 == 0);
      arguments.weights[i - begin] = {
          w.data, w.pitch, static_cast<int>(w.width), static_cast<int>(first),
          static_cast<int>(blocks)};
      first += w.width;
      blocks += CeilDiv(w.width, tile);
    }
    CudaGrid grid;
    grid.x = static_cast<unsigned>(blocks);
    const size_t wide = SizeOf(SumType(dtype));
    grid.shared_bytes =
        static_cast<unsigned>(few ? 8 * 512 * wide : 2 * 16 * 68 * wide);
    const std::string kernel =
        StrCat("product_", few ? "few" : "many", vector ? "_vector" : "",
               transpose ? "_transposed" : "");
    // As many rows as a grid may have.
    const int64_t height = few ? 16 : 64;
    grid.y = static_cast<unsigned>(CeilDiv(from.rows, height));
    CAVS_RETURN_IF_ERROR(Launch(dtype, kernel, grid, stream, arguments));
  }
  return Status();
}

int64_t CudaKernels::NumParts(int64_t x_columns, int64_t y_columns,
                              int64_t rows) const {
  const int64_t tiles = x_columns == 0
                            ? CeilDiv(y_columns, 32)
                            : CeilDiv(x_columns, 64) * CeilDiv(y_columns, 64);
  const int64_t wanted =
      CeilDiv(context_->num_processors(), std::max<int64_t>(tiles, 1));
  return std::max<int64_t>(1, std::min(wanted, rows / kFewestRowsOfPart));
}

size_t CudaKernels::BytesOfParts(DType dtype, int64_t x_columns,
                                 int64_t y_columns, int64_t rows) const {
  const int64_t parts = NumParts(x_columns, y_columns, rows);
  if (parts == 1) return 0;
  return Memory::Padded(parts * std::max<int64_t>(x_columns, 1) * y_columns *
                        SizeOf(SumType(dtype)));
}

Status CudaKernels::SumOverRows(DType dtype, const CudaSum& sum,
                                CudaStreamHandle stream) const {
  const int64_t rows = sum.y.rows;
  const int64_t x_columns = sum.x.cols;
  const int64_t n = std::max<int64_t>(x_columns, 1) * sum.y.cols;
  if (rows == 0 || n == 0) return Status();
  const int64_t parts = NumParts(x_columns, sum.y.cols, rows);
  SumArgs arguments = {};
  arguments.x = Rows(sum.x);
  arguments.y = Rows(sum.y);
  arguments.x_columns = static_cast<int>(x_columns);
  arguments.y_columns = static_cast<int>(sum.y.cols);
  arguments.rows = rows;
  arguments.rows_per_part = CeilDiv(CeilDiv(rows, parts), 16) * 16;
  arguments.to = parts == 1 ? sum.to : sum.workspace;
  arguments.accumulate = parts == 1 && sum.accumulate;
  CudaGrid grid;
  grid.z = static_cast<unsigned>(CeilDiv(rows, arguments.rows_per_part));
  const unsigned wide = static_cast<unsigned>(SizeOf(SumType(dtype)));
  if (sum.x.data == nullptr) {
    grid.x = static_cast<unsigned>(CeilDiv(sum.y.cols, 32));
    grid.shared_bytes = 256 * wide;
    CAVS_RETURN_IF_ERROR(Launch(dtype, "sum_rows", grid, stream, arguments));
  } else {
    const bool vector = IsAligned(dtype, sum.x.data, sum.x.pitch) &&
                        IsAligned(dtype, sum.y.data, sum.y.pitch) &&
                        x_columns % 4 == 0 && sum.y.cols % 4 == 0;
    grid.x = static_cast<unsigned>(CeilDiv(sum.y.cols, 64));
    grid.y = static_cast<unsigned>(CeilDiv(x_columns, 64));
    grid.shared_bytes = 2 * 16 * 68 * wide;
    CAVS_RETURN_IF_ERROR(Launch(dtype,
                                vector ? "weight_grad_vector" : "weight_grad",
                                grid, stream, arguments));
  }
  if (parts == 1) return Status();
  const PartsArgs parts_arguments = {sum.workspace, sum.to, n,
                                     static_cast<int>(grid.z), sum.accumulate};
  return Launch(dtype, "add_parts", Flat(n), stream, parts_arguments);
}

Status CudaKernels::SumColumns(DType dtype, const ConstBlock& from,
                               const Block& to, CudaStreamHandle stream) const {
  CudaGrid grid;
  grid.x = static_cast<unsigned>(CeilDiv(to.rows, 8));
  const ColumnsArgs arguments = {Rows(from), to.data, to.pitch, to.rows,
                                 from.cols};
  return Launch(dtype, "sum_columns", grid, stream, arguments);
}

Status CudaKernels::ReduceEdges(DType dtype, bool maximum,
                                const ConstBlock& from, const int32_t* splits,
                                int64_t first_edge, const Block& to,
                                CudaStreamHandle stream) const {
  const CudaRowGrid own = GridOverRows(to.rows, to.cols);
  const EdgesArgs arguments = {Rows(from), to.data, to.pitch, splits,
                               first_edge, to.rows, to.cols,  own.shift};
  return Launch(dtype, maximum ? "max_edges" : "sum_edges", own.grid, stream,
                arguments);
}

Status CudaKernels::ToMask(DType dtype, const ConstBlock& from, const Block& to,
                           CudaStreamHandle stream) const {
  const MaskArgs arguments = {from.data, from.index, from.pitch, to.data,
                              to.pitch,  to.rows,    to.cols};
  return Launch(dtype, "to_mask", Flat(to.rows * to.cols), stream, arguments);
}

Status CudaKernels::Add(DType dtype, const void* terms, int64_t n, void* sums,
                        CudaStreamHandle stream) const {
  const FlatArgs arguments = {terms, nullptr, sums, nullptr, n};
  return Launch(dtype, "add", Flat(n), stream, arguments);
}

Status CudaKernels::Round(DType dtype, const void* sums, int64_t n,
                          void* rounded, CudaStreamHandle stream) const {
  const FlatArgs arguments = {nullptr, rounded, const_cast<void*>(sums),
                              nullptr, n};
  return Launch(dtype, "round_all", Flat(n), stream, arguments);
}

Status CudaKernels::RaiseUnlessFinite(DType dtype, const void* numbers,
                                      int64_t n, uint32_t* raised,
                                      CudaStreamHandle stream) const {
  const FlatArgs arguments = {numbers, nullptr, nullptr, raised, n};
  CudaGrid grid = Flat(n);
  grid.x = std::min<unsigned>(grid.x, 4 * context_->num_processors());
  return Launch(dtype, "raise_unless_finite", grid, stream, arguments);
}

}  // namespace cavs
