#include "cc/device/cuda/cuda_kernels.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <utility>

#include "cc/base/ceil_div.h"
#include "cc/device/cuda/cuda_walk.h"
#include "cc/device/cuda/source/kernels.h"

namespace cavs {
namespace {

constexpr int64_t kThreads = 256;
// The most of them in a launch, whose arguments take at most 4096 bytes.
constexpr size_t kMostMoves = 32;
constexpr size_t kMostTerms = 4;  // Of a product.
constexpr size_t kMostSums = 30;
// What products of few rows hold in shared memory.
constexpr int kNumbersOfFew = 8 * 512;
// The most that a tile of so many lines holds in shared memory, with what lies
// between lines. A block has two, and two that are being written.
constexpr int64_t NumbersOfTiles(int64_t lines) { return 4 * 16 * (lines + 8); }
// A part of a sum over rows has at least so many rows.
constexpr int64_t kFewestRowsOfPart = 64;

// The arguments of kernels, as their texts declare them.
struct Rows {
  const void* data;
  const int32_t* index;
  int64_t pitch;

  Rows() = default;
  explicit Rows(const ConstBlock& block)
      : data(block.data), index(block.index), pitch(block.pitch) {}
};
struct MovesArgs {
  struct Move {
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
  } moves[kMostMoves];
};
struct ProductsArgs {
  int num_products = 0, alike = 0, shift = 5, log_rows = 4, log_columns = 5,
      unused = 0;
  struct Product {
    void* to;
    int64_t to_pitch;
    int rows, width, first_block, num_terms, accumulate;
    struct Term {
      Rows from;
      const void* weight;
      int64_t pitch;
      int depth, transpose;
    } terms[kMostTerms];
  } products[kCudaMostProducts];

  // The arguments of a kernel with so many products.
  static constexpr size_t Bytes(int products) {
    return offsetof(ProductsArgs, products) + products * sizeof(Product);
  }
};
struct ProductsOfSumArgs {
  struct {
    void* to = nullptr;
    int64_t to_pitch = 0;
    int columns = 0, num_terms = 0;
    Rows terms[kCudaMostSummed] = {};
  } sum;
  ProductsArgs products;

  static constexpr size_t Bytes(int products) {
    return offsetof(ProductsOfSumArgs, products) +
           ProductsArgs::Bytes(products);
  }
};
struct SumsArgs {
  int num_sums;
  struct Sum {
    Rows x, y;
    void* to;
    int64_t rows, rows_per_part;
    int x_columns, y_columns, accumulate, vector, first_block, zeros,
        zeros_per_part;
  } sums[kMostSums];
};
struct PartsArgs {
  int num_sums;
  struct Parts {
    const void* parts;
    void* to;
    int64_t n;
    int num_parts, accumulate, first_block;
  } sums[kMostSums];
};
struct AddRowsArgs {
  const void* from;
  int64_t from_pitch;
  void* to;
  int64_t to_pitch;
  const int32_t *target, *links;
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
// The arguments of to_mask, round_rows and cast_rows.
struct MaskArgs {
  const void* from;
  const int32_t* index;
  int64_t from_pitch;
  void* to;
  int64_t to_pitch, rows, columns;
};
struct DrawArgs {
  const void* seed;
  const void* numbers;
  const int32_t* index;
  int64_t numbers_pitch;
  uint32_t number, threshold;
  double kept;
  void* to;
  int64_t to_pitch, rows, columns;
};
struct FlatArgs {
  const void* narrow;
  void* rounded;
  void* wide;
  int64_t n;
};
// The lines of a tile: large ones make twice as much of each number that is
// read, small ones are more.
constexpr int64_t kLines = 64, kManyLines = 128;

// The tiles of a sum over rows: see the kernel `sums`.
int64_t TilesOf(int64_t x_columns, int64_t y_columns, int64_t lines = kLines) {
  return x_columns == 0 ? CeilDiv(y_columns, 32)
                        : CeilDiv(x_columns, lines) * CeilDiv(y_columns, lines);
}

// The tiles of products of so few rows.
int64_t TilesOfFew(const std::vector<CudaProduct>& products, int log_columns,
                   int64_t rows) {
  int64_t tiles = 0;
  for (const CudaProduct& own : products) {
    tiles += CeilDiv(own.to.cols, int64_t{1} << log_columns);
  }
  return tiles * CeilDiv(rows, 16);
}

// Whether rows can be read four elements at a time.
bool IsAligned(DType dtype, const void* data, int64_t pitch) {
  return reinterpret_cast<uintptr_t>(data) % (4 * SizeOf(dtype)) == 0 &&
         pitch % 4 == 0;
}

// Whether kernels can read the operands of a term, which makes so many columns,
// four elements at a time.
bool CanReadFour(DType dtype, int64_t columns, const CudaProduct::Term& term) {
  return term.from.cols % 4 == 0 &&
         IsAligned(dtype, term.from.data, term.from.pitch) &&
         IsAligned(dtype, term.weight, term.pitch) &&
         (term.transpose || columns % 4 == 0);
}

bool CanReadFour(DType dtype, const CudaProduct& product) {
  return std::all_of(product.terms.begin(), product.terms.end(),
                     [&](const CudaProduct::Term& term) {
                       return CanReadFour(dtype, product.to.cols, term);
                     });
}
bool CanReadFour(DType dtype, const CudaSum& sum) {
  return IsAligned(dtype, sum.x.data, sum.x.pitch) &&
         IsAligned(dtype, sum.y.data, sum.y.pitch) && sum.x.cols % 4 == 0 &&
         sum.y.cols % 4 == 0;
}

CudaKernel KernelOfProducts(bool few, bool vector) {
  if (few) {
    return vector ? CudaKernel::kProductsFewVector : CudaKernel::kProductsFew;
  }
  return vector ? CudaKernel::kProductsManyVector : CudaKernel::kProductsMany;
}

// Adds some columns of a product to the products of a launch. Clears `vector`
// if kernels cannot read its operands four elements at a time.
void Append(DType dtype, const CudaProduct& own, int64_t first_column,
            int64_t columns, int first_block, ProductsArgs* arguments,
            bool* vector) {
  const int64_t first = first_column * static_cast<int64_t>(SizeOf(dtype));
  ProductsArgs::Product& product =
      arguments->products[arguments->num_products++];
  product.to = static_cast<char*>(own.to.data) + first;
  product.to_pitch = own.to.pitch;
  product.rows = static_cast<int>(own.to.rows);
  product.width = static_cast<int>(columns);
  product.first_block = first_block;
  product.num_terms = 0;
  product.accumulate = own.accumulate;
  for (CudaProduct::Term term : own.terms) {
    term.weight = static_cast<const char*>(term.weight) +
                  first * (term.transpose ? term.pitch : 1);
    *vector = *vector && CanReadFour(dtype, columns, term);
    product.terms[product.num_terms++] = {
        Rows(term.from), term.weight, term.pitch,
        static_cast<int>(term.from.cols), term.transpose};
  }
}

// Whether products can form a sum in shared memory while they read it.
bool CanForm(DType dtype, const CudaRowSum& sum) {
  return sum.terms.size() <= kCudaMostSummed &&
         (sum.terms.empty() || sum.to.cols % 4 == 0) &&
         std::all_of(sum.terms.begin(), sum.terms.end(), [&](const auto& own) {
           return IsAligned(dtype, own.data, own.pitch);
         });
}

// Lets products form a sum. Each row of it lies behind four numbers that keep
// it from the banks of others; returns how many bytes there are.
size_t Append(DType dtype, const CudaRowSum& own, ProductsOfSumArgs* all) {
  if (own.terms.empty()) return 0;
  const int64_t pitch = own.to.cols + 4;
  auto& sum = all->sum;
  sum.to = own.to.data;
  sum.to_pitch = own.to.pitch;
  sum.columns = static_cast<int>(own.to.cols);
  for (const ConstBlock& term : own.terms) {
    sum.terms[sum.num_terms++] = Rows(term);
  }
  for (int i = 0; i < all->products.num_products; ++i) {
    ProductsArgs::Product& product = all->products.products[i];
    for (int t = 0; t < product.num_terms; ++t) {
      Rows& from = product.terms[t].from;
      if (from.data == own.to.data) from = Rows({nullptr, 0, 0, pitch});
    }
  }
  return static_cast<size_t>(16 * pitch) * SizeOf(dtype);
}

bool HasFewTerms(const CudaProduct& own) {
  return own.terms.size() <= kMostTerms;
}

// Divides products of many terms into several, one behind the other, that are
// added.
std::vector<CudaProduct> WithFewTerms(
    const std::vector<CudaProduct>& products) {
  std::vector<CudaProduct> parts;
  for (const CudaProduct& own : products) {
    for (size_t begin = 0; begin < own.terms.size(); begin += kMostTerms) {
      const size_t end = std::min(own.terms.size(), begin + kMostTerms);
      parts.push_back({{own.terms.begin() + begin, own.terms.begin() + end},
                       own.to,
                       own.accumulate || begin > 0,
                       own.alike});
    }
  }
  return parts;
}

}  // namespace

CudaRowGrid CudaKernels::GridOverRows(int64_t rows, int64_t columns) const {
  CudaRowGrid own;
  while (own.shift < 8 && (int64_t{1} << own.shift) < columns) ++own.shift;
  own.grid.x = static_cast<unsigned>(CeilDiv(columns, int64_t{1} << own.shift));
  own.grid.y = static_cast<unsigned>(
      std::min(context_->most_grid_y(), CeilDiv(rows, kThreads >> own.shift)));
  return own;
}

CudaKernels::CudaKernels(std::shared_ptr<const CudaContext> context)
    : context_(context),
      pinned_(std::move(context)),
      moves_(KernelsOf(TextOfMoves())),
      tf32_(KernelsOf(TextOfKernels(DType::kFloat32, /*tf32=*/true))) {
  for (size_t i = 0; i < kernels_.size(); ++i) {
    kernels_[i] = KernelsOf(TextOfKernels(FloatTypes::kDTypes[i]));
  }
}

Status CudaKernels::Launch(const CudaFoundKernel& kernel, const CudaGrid& grid,
                           const CudaQueue& queue, const void* arguments,
                           size_t bytes) const {
  if (queue.walk != nullptr) {
    queue.walk->Add(kernel, grid, arguments, bytes);
    return Status();
  }
  CudaFunction function;
  CAVS_RETURN_IF_ERROR(kernel.Find(*context_, &function));
  return context_->Launch(function, grid, queue.stream, arguments);
}

const CudaFoundKernel& CudaKernels::KernelOf(DType dtype, CudaKernel kernel,
                                             const CudaQueue& queue) const {
  const CudaFoundKernels& kernels = queue.tf32 && dtype == DType::kFloat32
                                        ? tf32_
                                        : kernels_[CudaTypeNumber(dtype)];
  return *kernels[static_cast<int>(kernel)];
}

Status CudaKernels::LaunchOf(DType dtype, CudaKernel kernel,
                             const CudaGrid& grid, const CudaQueue& queue,
                             const void* arguments, size_t bytes) const {
  return Launch(KernelOf(dtype, kernel, queue), grid, queue, arguments, bytes);
}

// In the largest units that fit all of them.
Status CudaKernels::Move(const std::vector<CudaMove>& moves,
                         const CudaQueue& queue) const {
  uint64_t bits = 16;
  for (const CudaMove& own : moves) {
    const uint64_t size = own.size;
    bits |= reinterpret_cast<uintptr_t>(own.from.data) |
            reinterpret_cast<uintptr_t>(own.to.data) | own.from.pitch * size |
            own.to.pitch * size | own.to.cols * size;
  }
  const auto unit = static_cast<int64_t>(bits & (~bits + 1));
  int number =
      0;  // The kernel's: there is one for units of 1, 2, 4, ... bytes.
  while ((int64_t{1} << number) < unit) ++number;
  const CudaFoundKernel& kernel = *moves_[number];
  for (size_t begin = 0; begin < moves.size(); begin += kMostMoves) {
    MovesArgs arguments;
    CudaGrid grid;
    grid.z = 0;
    for (size_t i = begin; i < std::min(moves.size(), begin + kMostMoves);
         ++i) {
      const CudaMove& own = moves[i];
      if (own.to.rows == 0 || own.to.cols == 0) continue;
      const auto units = [&](int64_t elements) {
        return elements * static_cast<int64_t>(own.size) / unit;
      };
      const CudaRowGrid rows = GridOverRows(own.to.rows, units(own.to.cols));
      grid.x = std::max(grid.x, rows.grid.x);
      grid.y = std::max(grid.y, rows.grid.y);
      arguments.moves[grid.z++] = {own.from.data,
                                   own.via,
                                   own.first_via,
                                   own.from.index,
                                   units(own.from.pitch),
                                   own.to.data,
                                   own.to_index,
                                   units(own.to.pitch),
                                   own.to.rows,
                                   units(own.to.cols),
                                   rows.shift};
    }
    CAVS_RETURN_IF_ERROR(Launch(kernel, grid, queue, &arguments,
                                grid.z * sizeof(arguments.moves[0])));
  }
  return Status();
}

Status CudaKernels::AddRows(DType dtype, const ConstBlock& from,
                            const int32_t* target, const int32_t* links,
                            const Block& to, const CudaQueue& queue) const {
  CudaGrid grid;
  grid.x = static_cast<unsigned>(CeilDiv(from.rows, 8));
  const AddRowsArgs arguments = {from.data, from.pitch, to.data,   to.pitch,
                                 target,    links,      from.rows, from.cols};
  return LaunchOf(dtype, CudaKernel::kAddRows, grid, queue, &arguments,
                  sizeof(arguments));
}

Status CudaKernels::RoundRows(DType dtype, const ConstBlock& sums,
                              const Block& to, const CudaQueue& queue) const {
  const MaskArgs arguments = {sums.data, sums.index, sums.pitch, to.data,
                              to.pitch,  to.rows,    to.cols};
  return LaunchOf(dtype, CudaKernel::kRoundRows, CudaGridOf(to.rows * to.cols),
                  queue, &arguments, sizeof(arguments));
}

Status CudaKernels::Multiply(DType dtype,
                             const std::vector<CudaProduct>& products,
                             const CudaQueue& queue) const {
  const bool alike =
      std::all_of(products.begin(), products.end(),
                  [](const CudaProduct& own) { return own.alike; });
  int64_t written = 0;
  for (const CudaProduct& own : products) {
    written = std::max(written, own.to.rows);
  }
  const int64_t most_rows = alike ? 1 : written;
  const bool few = most_rows <= kCudaFewRows;
  const bool large = !few && HasLargeTiles(dtype, products);
  const int64_t lines = large ? kManyLines : kLines;
  FewTile tile;
  if (few) {
    tile = TileOfFew(dtype, products, written, /*narrowest=*/3,
                     [&](int log_columns) {
                       return TilesOfFew(products, log_columns, most_rows);
                     });
  }
  const int64_t height = few ? 16 : lines;
  const int64_t width = few ? int64_t{1} << tile.log_columns : lines;
  const size_t wide = SizeOf(SumType(dtype));
  std::vector<CudaProduct> divided;
  if (!std::all_of(products.begin(), products.end(), HasFewTerms)) {
    divided = WithFewTerms(products);
  }
  const std::vector<CudaProduct>& parts = divided.empty() ? products : divided;
  for (size_t next = 0; next < parts.size();) {
    ProductsArgs arguments;  // Only the products that there are are written.
    arguments.alike = alike;
    arguments.shift = tile.log_columns;
    arguments.log_rows = tile.log_rows;
    arguments.log_columns = tile.log_columns;
    bool vector = true;
    int blocks = 0;
    for (const size_t first = next; next < parts.size(); ++next) {
      const CudaProduct& own = parts[next];
      if (own.to.rows == 0 || own.to.cols == 0) continue;
      // A product that is added to another product of this launch waits for
      // that.
      if (arguments.num_products == kCudaMostProducts ||
          (next > first && own.to.data == parts[next - 1].to.data)) {
        break;
      }
      Append(dtype, own, 0, own.to.cols, blocks, &arguments, &vector);
      blocks += static_cast<int>(CeilDiv(own.to.cols, width));
    }
    CudaGrid grid;
    grid.x = static_cast<unsigned>(blocks);
    grid.y = static_cast<unsigned>(
        std::min(context_->most_grid_y(), CeilDiv(most_rows, height)));
    grid.shared_bytes = static_cast<unsigned>(
        wide * (few ? kNumbersOfFew : NumbersOfTiles(lines)));
    const CudaKernel kernel =
        large ? CudaKernel::kProductsLarge : KernelOfProducts(few, vector);
    CAVS_RETURN_IF_ERROR(LaunchOf(dtype, kernel, grid, queue, &arguments,
                                  ProductsArgs::Bytes(arguments.num_products)));
  }
  return Status();
}

// A tile of half the numbers has twice as many threads for each of them, so
// that a block takes less time: it has the rows that are written, and columns
// for as many blocks as there are processors. Each of at most 32 parts of the
// deepest term has four numbers or more. Products that are not read four
// numbers at a time have the same bits with a group and without it, as all
// their tiles are alike.
template <typename Blocks>
FewTile CudaKernels::TileOfFew(DType dtype,
                               const std::vector<CudaProduct>& products,
                               int64_t rows, int narrowest,
                               const Blocks& blocks) const {
  int64_t depth = 0;
  FewTile tile;
  for (const CudaProduct& own : products) {
    if (!CanReadFour(dtype, own)) return tile;
    for (const CudaProduct::Term& term : own.terms) {
      depth = std::max(depth, term.from.cols);
    }
  }
  const auto may_halve = [&] {
    const int parts = 13 - tile.log_rows - tile.log_columns;
    return parts <= 5 && depth >= int64_t{4} << parts;
  };
  while (rows <= int64_t{1} << (tile.log_rows - 1) && tile.log_rows > 2 &&
         may_halve()) {
    --tile.log_rows;
  }
  while (tile.log_columns > narrowest && may_halve() &&
         blocks(tile.log_columns - 1) <= context_->num_processors()) {
    --tile.log_columns;
  }
  return tile;
}

// A large tile makes four times as many numbers as a small one in about twice
// the time, so that they are faster if there are not too few of them.
bool CudaKernels::HasLargeTiles(
    DType dtype, const std::vector<CudaProduct>& products) const {
  int64_t large = 0, small = 0;
  for (const CudaProduct& own : products) {
    if (!CanReadFour(dtype, own)) return false;
    large += TilesOf(own.to.rows, own.to.cols, kManyLines);
    small += TilesOf(own.to.rows, own.to.cols);
  }
  const int64_t processors = context_->num_processors();
  return dtype != DType::kFloat64 &&
         2 * CeilDiv(large, processors) < CeilDiv(small, processors);
}

// Sums are formed in parts, so that there are more tiles.
bool CudaKernels::HasLargeTiles(DType dtype,
                                const std::vector<CudaSum>& sums) const {
  int64_t large = 0, small = 0, blocks = 0;
  for (const CudaSum& own : sums) {
    if (own.x.cols == 0) continue;
    if (!CanReadFour(dtype, own)) return false;
    const int64_t mine = TilesOf(own.x.cols, own.y.cols);
    large += TilesOf(own.x.cols, own.y.cols, kManyLines);
    small += mine;
    blocks += TilesOf(own.x.cols, own.y.cols, kManyLines) *
              NumParts(mine, own.y.rows - own.zeros);
  }
  return dtype != DType::kFloat64 && 2 * large < small &&
         blocks >= context_->num_processors();
}

// A block has as many columns of the group as fit into the columns of a tile.
// That may take more blocks than the products alone, where some of these stay
// unused: if the GPU then has work for two more rounds, two launches are as
// fast.
Status CudaKernels::MultiplyThen(DType dtype,
                                 const std::vector<CudaProduct>& products,
                                 const CudaEpilogue& group,
                                 const CudaQueue& queue,
                                 const std::function<void()>& begin) const {
  const int64_t columns = group.arguments->columns;
  const int64_t rows = group.arguments->rows;
  const bool alike = std::all_of(products.begin(), products.end(),
                                 [](const auto& own) { return own.alike; });
  const bool summed = !group.sum.terms.empty();
  if (rows > kCudaFewRows || columns == 0 || (summed && alike) ||
      !CanForm(dtype, group.sum)) {
    return Status();
  }
  int64_t number = 0;
  for (const CudaProduct& own : products) {
    if (!HasFewTerms(own) || own.to.cols == 0) return Status();
    number += own.to.cols / columns;
  }
  if (number > kCudaMostProductsOfGroup) return Status();
  ProductsOfSumArgs all;
  ProductsArgs& arguments = all.products;
  arguments.alike = alike;
  // The four columns of a thread are those of one product.
  const int gates = number > 4 ? 3 : number > 2 ? 2 : number > 1 ? 1 : 0;
  const int64_t height = alike ? 1 : CeilDiv(rows, 16);
  FewTile tile;
  if (columns % 4 == 0) {
    tile = TileOfFew(
        dtype, products, rows, std::max(3, gates + 2), [&](int log_columns) {
          return CeilDiv(columns, int64_t{1} << (log_columns - gates)) * height;
        });
  }
  arguments.log_rows = tile.log_rows;
  arguments.log_columns = tile.log_columns;
  arguments.shift = tile.log_columns - gates;
  CudaGrid grid;
  grid.x = static_cast<unsigned>(CeilDiv(columns, 1 << arguments.shift));
  grid.y = static_cast<unsigned>(height);
  const int64_t processors = context_->num_processors();
  const int64_t alone =
      TilesOfFew(products, tile.log_columns, alike ? 1 : rows);
  if (CeilDiv(grid.x * height, processors) > CeilDiv(alone, processors) + 1) {
    return Status();
  }
  bool vector = true;
  for (const CudaProduct& own : products) {
    for (int64_t first = 0; first < own.to.cols; first += columns) {
      // No block begins with another product than the first.
      const int first_block = arguments.num_products == 0 ? 0 : INT_MAX;
      Append(dtype, own, first, columns, first_block, &arguments, &vector);
    }
  }
  if ((summed || queue.walk == nullptr) && !vector) return Status();
  grid.shared_bytes = static_cast<unsigned>(
      SizeOf(SumType(dtype)) * kNumbersOfFew + Append(dtype, group.sum, &all));
  if (grid.shared_bytes + kCudaWalkArgumentBytes >
      static_cast<size_t>(context_->shared_bytes())) {
    return Status();
  }
  group.arguments->shift = arguments.shift;
  group.arguments->block_rows = static_cast<int>(alike ? rows : 16);
  begin();
  const int parts = arguments.num_products;
  if (queue.walk != nullptr) {
    if (summed) {
      queue.walk->Add(KernelOf(dtype, CudaKernel::kProductsOfSum, queue), grid,
                      &all, ProductsOfSumArgs::Bytes(parts));
    } else {
      queue.walk->Add(KernelOf(dtype, KernelOfProducts(true, vector), queue),
                      grid, &arguments, ProductsArgs::Bytes(parts));
    }
    queue.walk->AddBehind(*group.group, group.arguments, group.bytes);
    return Status();
  }
  struct {
    char products[ProductsOfSumArgs::Bytes(kCudaMostProductsOfGroup)];
    CudaGroupArgs group;
  } both;
  static_assert(sizeof(both) <= kCudaWalkArgumentBytes);
  std::memcpy(both.products, &all, ProductsOfSumArgs::Bytes(parts));
  std::memcpy(&both.group, group.arguments, group.bytes);
  return Launch(*group.together, grid, queue, &both, sizeof(both));
}

int64_t CudaKernels::NumParts(int64_t tiles, int64_t rows) const {
  const int64_t wanted =
      CeilDiv(context_->num_processors(), std::max<int64_t>(tiles, 1));
  return std::max<int64_t>(1, std::min(wanted, rows / kFewestRowsOfPart));
}

size_t CudaKernels::BytesOfParts(DType dtype, int64_t x_columns,
                                 int64_t y_columns, int64_t rows) const {
  const int64_t parts = NumParts(TilesOf(x_columns, y_columns), rows);
  if (parts == 1) return 0;
  return Memory::Padded(parts * std::max<int64_t>(x_columns, 1) * y_columns *
                        SizeOf(SumType(dtype)));
}

Status CudaKernels::SumOverRows(DType dtype, const std::vector<CudaSum>& sums,
                                void* workspace, const CudaQueue& queue) const {
  const auto wide = static_cast<int64_t>(SizeOf(SumType(dtype)));
  const bool large = HasLargeTiles(dtype, sums);
  const int64_t lines = large ? kManyLines : kLines;
  int64_t tiles = 0;
  for (const CudaSum& own : sums) {
    tiles += TilesOf(own.x.cols, own.y.cols, lines);
  }
  char* free_workspace = static_cast<char*>(workspace);
  for (size_t begin = 0; begin < sums.size(); begin += kMostSums) {
    SumsArgs arguments;
    PartsArgs in_parts;
    arguments.num_sums = in_parts.num_sums = 0;
    int blocks = 0, blocks_of_parts = 0;
    for (size_t i = begin; i < std::min(sums.size(), begin + kMostSums); ++i) {
      const CudaSum& own = sums[i];
      const int64_t n = std::max<int64_t>(own.x.cols, 1) * own.y.cols;
      if (own.y.rows == 0 || n == 0) continue;
      // Rows of zeros take much less time.
      const int64_t rows = own.y.rows - own.zeros;
      const int64_t work = std::max(rows, CeilDiv(own.zeros, 16));
      int64_t wanted = NumParts(tiles, work);
      // Several blocks for each processor, so that all have much the same work.
      if (large) {
        wanted = std::min(CeilDiv(3 * context_->num_processors(), tiles),
                          NumParts(TilesOf(own.x.cols, own.y.cols), work));
      }
      const int64_t rows_per_part =
          std::max<int64_t>(CeilDiv(CeilDiv(rows, wanted), 16) * 16, 16);
      const int64_t parts = std::max<int64_t>(CeilDiv(rows, rows_per_part), 1);
      void* const to = parts == 1 ? own.to : free_workspace;
      arguments.sums[arguments.num_sums++] = {
          Rows(own.x),
          Rows(own.y),
          to,
          own.y.rows,
          rows_per_part,
          static_cast<int>(own.x.cols),
          static_cast<int>(own.y.cols),
          parts == 1 && own.accumulate,
          CanReadFour(dtype, own),
          blocks,
          static_cast<int>(own.zeros),
          static_cast<int>(CeilDiv(own.zeros, parts))};
      blocks +=
          static_cast<int>(parts * TilesOf(own.x.cols, own.y.cols, lines));
      if (parts == 1) continue;
      in_parts.sums[in_parts.num_sums++] = {to,
                                            own.to,
                                            n,
                                            static_cast<int>(parts),
                                            own.accumulate,
                                            blocks_of_parts};
      blocks_of_parts += static_cast<int>(CeilDiv(n, kThreads));
      free_workspace += Memory::Padded(parts * n * wide);
    }
    CudaGrid grid;
    grid.x = static_cast<unsigned>(blocks);
    grid.shared_bytes = static_cast<unsigned>(NumbersOfTiles(lines) * wide);
    CAVS_RETURN_IF_ERROR(LaunchOf(
        dtype, large ? CudaKernel::kSumsLarge : CudaKernel::kSums, grid, queue,
        &arguments,
        offsetof(SumsArgs, sums) + arguments.num_sums * sizeof(SumsArgs::Sum)));
    CudaGrid grid_of_parts;
    grid_of_parts.x = static_cast<unsigned>(blocks_of_parts);
    CAVS_RETURN_IF_ERROR(
        LaunchOf(dtype, CudaKernel::kAddParts, grid_of_parts, queue, &in_parts,
                 offsetof(PartsArgs, sums) +
                     in_parts.num_sums * sizeof(PartsArgs::Parts)));
  }
  return Status();
}

Status CudaKernels::SumColumns(DType dtype, const ConstBlock& from,
                               const Block& to, const CudaQueue& queue) const {
  CudaGrid grid;
  grid.x = static_cast<unsigned>(CeilDiv(to.rows, 8));
  const ColumnsArgs arguments = {Rows(from), to.data, to.pitch, to.rows,
                                 from.cols};
  return LaunchOf(dtype, CudaKernel::kSumColumns, grid, queue, &arguments,
                  sizeof(arguments));
}

Status CudaKernels::ReduceEdges(DType dtype, bool maximum,
                                const ConstBlock& from, const int32_t* splits,
                                int64_t first_edge, const Block& to,
                                const CudaQueue& queue) const {
  const CudaRowGrid own = GridOverRows(to.rows, to.cols);
  const EdgesArgs arguments = {Rows(from), to.data, to.pitch, splits,
                               first_edge, to.rows, to.cols,  own.shift};
  return LaunchOf(dtype,
                  maximum ? CudaKernel::kMaxEdges : CudaKernel::kSumEdges,
                  own.grid, queue, &arguments, sizeof(arguments));
}

Status CudaKernels::ToMask(DType dtype, const ConstBlock& from, const Block& to,
                           const CudaQueue& queue) const {
  const MaskArgs arguments = {from.data, from.index, from.pitch, to.data,
                              to.pitch,  to.rows,    to.cols};
  return LaunchOf(dtype, CudaKernel::kToMask, CudaGridOf(to.rows * to.cols),
                  queue, &arguments, sizeof(arguments));
}

Status CudaKernels::DrawMask(DType dtype, const DrawnMask& mask,
                             const ConstBlock& numbers, const void* seed,
                             const Block& to, const CudaQueue& queue) const {
  const DrawArgs arguments = {seed,          numbers.data, numbers.index,
                              numbers.pitch, mask.number,  mask.threshold(),
                              mask.kept(),   to.data,      to.pitch,
                              to.rows,       to.cols};
  return LaunchOf(dtype, CudaKernel::kDrawMask,
                  CudaGridOf(to.rows * CeilDiv(to.cols, 64) * 16), queue,
                  &arguments, sizeof(arguments));
}

Status CudaKernels::Cast(DType from_type, const ConstBlock& from, DType to_type,
                         const Block& to, const CudaQueue& queue) const {
  const MaskArgs arguments = {from.data, from.index, from.pitch, to.data,
                              to.pitch,  to.rows,    to.cols};
  const int kernel =
      static_cast<int>(CudaKernel::kCast) + CudaTypeNumber(from_type);
  return LaunchOf(to_type, static_cast<CudaKernel>(kernel),
                  CudaGridOf(to.rows * to.cols), queue, &arguments,
                  sizeof(arguments));
}

Status CudaKernels::Add(DType dtype, const void* terms, int64_t n, void* sums,
                        const CudaQueue& queue) const {
  const FlatArgs arguments = {terms, nullptr, sums, n};
  return LaunchOf(dtype, CudaKernel::kAdd, CudaGridOf(n), queue, &arguments,
                  sizeof(arguments));
}

Status CudaKernels::Round(DType dtype, const void* sums, int64_t n,
                          void* rounded, const CudaQueue& queue) const {
  const FlatArgs arguments = {nullptr, rounded, const_cast<void*>(sums), n};
  return LaunchOf(dtype, CudaKernel::kRoundAll, CudaGridOf(n), queue,
                  &arguments, sizeof(arguments));
}

}  // namespace cavs
