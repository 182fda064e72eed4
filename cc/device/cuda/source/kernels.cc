#include "cc/device/cuda/source/kernels.h"

namespace cavs {
namespace {

// In all of these kernels, `Rows` is a ConstBlock or a Block; a row that is
// read by an index of -1 is the row of zeros before the first, which is there.
// Results depend on the sizes of their operands only, never on which thread is
// faster.

constexpr char kMoves[] = R"(
#include "cavs_device.h"

struct Unit16 { u32 x[4]; };
struct Unit8 { u32 x[2]; };

// Row r of `to` becomes row r of `from`, or, by way of a list, row
// via[r] - first_via. An index gives the number of the row on its side: from
// nowhere (-1, or no memory) come zeros, to nowhere goes nothing.
struct MoveArgs {
  Global<const char> from;
  Global<const int> via;
  i64 first_via;
  Global<const int> from_index;
  i64 from_pitch;
  Global<char> to;
  Global<const int> to_index;
  i64 to_pitch;
  i64 rows, columns;
  int shift;  // A block has 2^shift threads side by side in a row.
};

template <typename T> FUNCTION void move(const MoveArgs& a) {
  const int width = 1 << a.shift, height = thread_count() >> a.shift;
  const i64 c = static_cast<i64>(block_x()) * width +
                (thread_index() & (width - 1));
  if (c >= a.columns) return;
  Global<const T> from = cast<const T>(a.from);
  Global<T> to = cast<T>(a.to);
  for (i64 r = static_cast<i64>(block_y()) * height +
               (thread_index() >> a.shift);
       r < a.rows; r += static_cast<i64>(grid_y()) * height) {
    i64 source = r, target = r;
    if (a.via) source = a.via[r] - a.first_via;
    if (a.from_index) source = a.from_index[source];
    if (a.to_index) target = a.to_index[r];
    if (target < 0) continue;
    T unit = T();
    if (a.from && source >= 0) unit = from[source * a.from_pitch + c];
    to[target * a.to_pitch + c] = unit;
  }
}
KERNEL(move1, MoveArgs, 256) { move<char>(a); }
KERNEL(move2, MoveArgs, 256) { move<u16>(a); }
KERNEL(move4, MoveArgs, 256) { move<u32>(a); }
KERNEL(move8, MoveArgs, 256) { move<Unit8>(a); }
KERNEL(move16, MoveArgs, 256) { move<Unit16>(a); }
)";

constexpr char kKernels[] = R"(
typedef Wide<T> W;

// The rows of an operand.
struct Rows {
  Global<const T> data;
  Global<const int> index;
  i64 pitch;
};
FUNCTION Global<const T> row_of(const Rows& rows, i64 r) {
  const i64 row = rows.index ? static_cast<i64>(rows.index[r]) : r;
  return rows.data + row * rows.pitch;
}
FUNCTION int least(int x, int y) { return x < y ? x : y; }
FUNCTION i64 least(i64 x, i64 y) { return x < y ? x : y; }

// to[r] (+)= from[r] * [weights side by side].
struct Weight {
  Global<const T> data;
  i64 pitch;
  int width;        // Columns of the product.
  int first;        // The first of them in the result.
  int first_block;  // The first block that computes them.
};
struct ProductArgs {
  Rows from;
  Global<T> to;
  i64 to_pitch;
  i64 rows;
  int depth;
  int accumulate;
  int num_weights;
  Weight weights[16];
};

// Four numbers of a row from column c on, as wide numbers.
template <bool vector>
FUNCTION void read4(Global<const T> row, i64 c, i64 end, W (&x)[4]) {
  if (vector) {
    const Four<T> four = load4(row, c);
UNROLL
    for (int i = 0; i < 4; ++i) x[i] = to_wide(four.x[i]);
  } else {
UNROLL
    for (int i = 0; i < 4; ++i) {
      x[i] = W(0);
      if (c + i < end) {
        const T own = row[c + i];
        x[i] = to_wide(own);
      }
    }
  }
}

// Of few rows. A block computes 16 rows and 32 columns: each of its 8 warps a
// part of the depth, each thread 4 x 4 numbers. Then the parts are added.
template <bool vector, bool transpose>
FUNCTION void product_few(const ProductArgs& a) {
  SHARED_MEMORY(memory);
  Shared<W> parts = cast<W>(memory);
  int w = 0;
  while (w + 1 < a.num_weights && a.weights[w + 1].first_block <= block_x()) {
    ++w;
  }
  const Weight& weight = a.weights[w];
  const int column = (block_x() - weight.first_block) * 32 + (lane() & 7) * 4;
  const i64 row = static_cast<i64>(block_y()) * 16 + (lane() >> 3) * 4;
  // Threads without a row or column compute those of another one.
  Global<const T> x_rows[4] = {
      row_of(a.from, least(row, a.rows - 1)),
      row_of(a.from, least(row + 1, a.rows - 1)),
      row_of(a.from, least(row + 2, a.rows - 1)),
      row_of(a.from, least(row + 3, a.rows - 1))};
  const int own = vector && !transpose ? least(column, weight.width - 4)
                                       : column;
  const int each = ((a.depth + 31) / 32) * 4;
  const int begin = warp() * each;
  const int end = least(begin + each, a.depth);
  W sum[4][4];
UNROLL
  for (int i = 0; i < 4; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) sum[i][j] = W(0);
  }
#pragma unroll 2
  for (int k = begin; k < end; k += 4) {
    W x[4][4], y[4][4];  // y[j][k]: row k of the weight, column j.
UNROLL
    for (int i = 0; i < 4; ++i) read4<vector>(x_rows[i], k, end, x[i]);
UNROLL
    for (int i = 0; i < 4; ++i) {
      if (transpose) {
        const int c = least(own + i, weight.width - 1);
        read4<vector>(weight.data + c * weight.pitch, k, end, y[i]);
      } else {
        W line[4] = {W(0), W(0), W(0), W(0)};
        if (vector || k + i < end) {
          read4<vector>(weight.data + (k + i) * weight.pitch, own,
                        weight.width, line);
        }
UNROLL
        for (int j = 0; j < 4; ++j) y[j][i] = line[j];
      }
    }
UNROLL
    for (int kk = 0; kk < 4; ++kk) {
UNROLL
      for (int i = 0; i < 4; ++i) {
UNROLL
        for (int j = 0; j < 4; ++j) sum[i][j] = fma(x[i][kk], y[j][kk], sum[i][j]);
      }
    }
  }
UNROLL
  for (int i = 0; i < 4; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) {
      parts[warp() * 512 + ((lane() >> 3) * 4 + i) * 32 + (lane() & 7) * 4 + j] =
          sum[i][j];
    }
  }
  barrier();
  for (int e = thread_index(); e < 512; e += 256) {
    const i64 r = static_cast<i64>(block_y()) * 16 + e / 32;
    const int c = (block_x() - weight.first_block) * 32 + e % 32;
    if (r >= a.rows || c >= weight.width) continue;
    W all = parts[e];
UNROLL
    for (int i = 1; i < 8; ++i) all = all + parts[i * 512 + e];
    const i64 at = r * a.to_pitch + weight.first + c;
    if (a.accumulate) {
      const T before = a.to[at];
      all = to_wide(before) + all;
    }
    a.to[at] = from_wide<T>(all);
  }
}
KERNEL(product_few, ProductArgs, 256) { product_few<false, false>(a); }
KERNEL(product_few_transposed, ProductArgs, 256) {
  product_few<false, true>(a);
}
KERNEL(product_few_vector, ProductArgs, 256) { product_few<true, false>(a); }
KERNEL(product_few_vector_transposed, ProductArgs, 256) {
  product_few<true, true>(a);
}

// Reads a tile of 64 x 16 numbers into shared memory, in which number (i, k) of
// the tile lies at k * 68 + i. `row(i)` is line i of the tile.
template <bool vector, typename Row>
FUNCTION void read_tile(const Row& row, i64 lines, i64 k, i64 depth,
                        W (&x)[4]) {
  const int i = thread_index() / 4, first = (thread_index() & 3) * 4;
UNROLL
  for (int j = 0; j < 4; ++j) x[j] = W(0);
  if (i >= lines || k + first >= depth) return;
  read4<vector>(row(i), k + first, depth, x);
}
FUNCTION void write_tile(Shared<W> tile, const W (&x)[4]) {
  const int i = thread_index() / 4, first = (thread_index() & 3) * 4;
UNROLL
  for (int j = 0; j < 4; ++j) tile[(first + j) * 68 + i] = x[j];
}
// Likewise, a tile of 16 x 64 numbers: number (k, j) at k * 68 + j.
template <bool vector, typename Row>
FUNCTION void read_lines(const Row& row, i64 columns, i64 lines, W (&x)[4]) {
  const int k = thread_index() / 16, first = (thread_index() & 15) * 4;
UNROLL
  for (int j = 0; j < 4; ++j) x[j] = W(0);
  if (k >= lines || first >= columns) return;
  read4<vector>(row(k), first, columns, x);
}
FUNCTION void write_lines(Shared<W> tile, const W (&x)[4]) {
  const int k = thread_index() / 16, first = (thread_index() & 15) * 4;
UNROLL
  for (int j = 0; j < 4; ++j) tile[k * 68 + first + j] = x[j];
}
FUNCTION void multiply_tiles(Shared<W> x, Shared<W> y, W (&sum)[4][4]) {
  const int row = thread_index() / 16 * 4, column = (thread_index() & 15) * 4;
UNROLL
  for (int k = 0; k < 16; ++k) {
    W u[4], v[4];
UNROLL
    for (int i = 0; i < 4; ++i) {
      u[i] = x[k * 68 + row + i];
      v[i] = y[k * 68 + column + i];
    }
UNROLL
    for (int i = 0; i < 4; ++i) {
UNROLL
      for (int j = 0; j < 4; ++j) sum[i][j] = fma(u[i], v[j], sum[i][j]);
    }
  }
}

// Of many rows. A block computes 64 x 64 numbers, each thread 4 x 4.
template <bool vector, bool transpose>
FUNCTION void product_many(const ProductArgs& a) {
  SHARED_MEMORY(memory);
  Shared<W> x_tile = cast<W>(memory);
  Shared<W> y_tile = x_tile + 16 * 68;
  int w = 0;
  while (w + 1 < a.num_weights && a.weights[w + 1].first_block <= block_x()) {
    ++w;
  }
  const Weight& weight = a.weights[w];
  const int column0 = (block_x() - weight.first_block) * 64;
  const i64 row0 = static_cast<i64>(block_y()) * 64;
  const i64 rows = a.rows - row0, columns = weight.width - column0;
  const i64 mine = least(row0 + thread_index() / 4, a.rows - 1);
  Global<const T> x_row = row_of(a.from, mine);
  W sum[4][4];
UNROLL
  for (int i = 0; i < 4; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) sum[i][j] = W(0);
  }
  W x[4], y[4];
  const auto read = [&](int k) {
    read_tile<vector>([&](int) { return x_row; }, rows, k, a.depth, x);
    if (transpose) {
      read_tile<vector>(
          [&](int j) { return weight.data + (column0 + j) * weight.pitch; },
          columns, k, a.depth, y);
    } else {
      read_lines<vector>(
          [&](int i) { return weight.data + (k + i) * weight.pitch + column0; },
          columns, a.depth - k, y);
    }
  };
  read(0);
  for (int k = 0; k < a.depth; k += 16) {
    write_tile(x_tile, x);
    if (transpose) write_tile(y_tile, y);
    else write_lines(y_tile, y);
    barrier();
    if (k + 16 < a.depth) read(k + 16);
    multiply_tiles(x_tile, y_tile, sum);
    barrier();
  }
UNROLL
  for (int i = 0; i < 4; ++i) {
    const i64 r = row0 + thread_index() / 16 * 4 + i;
    if (r >= a.rows) continue;
UNROLL
    for (int j = 0; j < 4; ++j) {
      const int c = column0 + (thread_index() & 15) * 4 + j;
      if (c >= weight.width) continue;
      const i64 at = r * a.to_pitch + weight.first + c;
      W all = sum[i][j];
      if (a.accumulate) {
        const T before = a.to[at];
        all = to_wide(before) + all;
      }
      a.to[at] = from_wide<T>(all);
    }
  }
}
KERNEL(product_many, ProductArgs, 256) { product_many<false, false>(a); }
KERNEL(product_many_transposed, ProductArgs, 256) {
  product_many<false, true>(a);
}
KERNEL(product_many_vector, ProductArgs, 256) { product_many<true, false>(a); }
KERNEL(product_many_vector_transposed, ProductArgs, 256) {
  product_many<true, true>(a);
}

// Sums over rows. Block z adds up every so many rows; if there are several,
// their parts are added up in order by `add_parts`.
struct SumArgs {
  Rows x, y;  // The sum of transpose(x) * y, or of y.
  int x_columns, y_columns;
  i64 rows;
  i64 rows_per_part;
  Global<W> to;  // The sum, or the parts, one behind the other.
  int accumulate;
};
template <bool vector> FUNCTION void weight_grad(const SumArgs& a) {
  SHARED_MEMORY(memory);
  Shared<W> x_tile = cast<W>(memory);
  Shared<W> y_tile = x_tile + 16 * 68;
  const int row0 = block_y() * 64, column0 = block_x() * 64;
  const i64 begin = block_z() * a.rows_per_part;
  const i64 end = least(begin + a.rows_per_part, a.rows);
  W sum[4][4];
UNROLL
  for (int i = 0; i < 4; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) sum[i][j] = W(0);
  }
  W x[4], y[4];
  const auto read = [&](i64 k) {
    read_lines<vector>([&](int i) { return row_of(a.x, k + i) + row0; },
                       a.x_columns - row0, end - k, x);
    read_lines<vector>([&](int i) { return row_of(a.y, k + i) + column0; },
                       a.y_columns - column0, end - k, y);
  };
  read(begin);
  for (i64 k = begin; k < end; k += 16) {
    write_lines(x_tile, x);
    write_lines(y_tile, y);
    barrier();
    if (k + 16 < end) read(k + 16);
    multiply_tiles(x_tile, y_tile, sum);
    barrier();
  }
  Global<W> to = a.to + static_cast<i64>(block_z()) * a.x_columns * a.y_columns;
UNROLL
  for (int i = 0; i < 4; ++i) {
    const int r = row0 + thread_index() / 16 * 4 + i;
    if (r >= a.x_columns) continue;
UNROLL
    for (int j = 0; j < 4; ++j) {
      const int c = column0 + (thread_index() & 15) * 4 + j;
      if (c >= a.y_columns) continue;
      const i64 at = static_cast<i64>(r) * a.y_columns + c;
      W all = sum[i][j];
      if (a.accumulate) all = to[at] + all;
      to[at] = all;
    }
  }
}
KERNEL(weight_grad, SumArgs, 256) { weight_grad<false>(a); }
KERNEL(weight_grad_vector, SumArgs, 256) { weight_grad<true>(a); }

// A block adds up 32 columns, each warp every eighth row.
KERNEL(sum_rows, SumArgs, 256) {
  SHARED_MEMORY(memory);
  Shared<W> parts = cast<W>(memory);
  const int c = block_x() * 32 + lane();
  const i64 begin = block_z() * a.rows_per_part;
  const i64 end = least(begin + a.rows_per_part, a.rows);
  W sum = W(0);
  if (c < a.y_columns) {
#pragma unroll 4
    for (i64 r = begin + warp(); r < end; r += 8) {
      const T own = row_of(a.y, r)[c];
      sum = sum + to_wide(own);
    }
  }
  parts[thread_index()] = sum;
  barrier();
  if (warp() != 0 || c >= a.y_columns) return;
  for (int i = 1; i < 8; ++i) sum = sum + parts[i * 32 + lane()];
  const i64 at = static_cast<i64>(block_z()) * a.y_columns + c;
  if (a.accumulate) sum = a.to[at] + sum;
  a.to[at] = sum;
}

struct PartsArgs {
  Global<const W> parts;
  Global<W> to;
  i64 n;
  int num_parts;
  int accumulate;
};
KERNEL(add_parts, PartsArgs, 256) {
  const i64 i = static_cast<i64>(block_x()) * thread_count() + thread_index();
  if (i >= a.n) return;
  W sum = a.parts[i];
  for (int p = 1; p < a.num_parts; ++p) sum = sum + a.parts[p * a.n + i];
  if (a.accumulate) sum = a.to[i] + sum;
  a.to[i] = sum;
}

// Row target[r] of `to` (+)= row r of `from`. Rows with the same target are
// added in order, by the warp of the first of them.
struct AddRowsArgs {
  Global<const T> from;
  i64 from_pitch;
  Global<T> to;
  i64 to_pitch;
  Global<const int> target;
  i64 rows, columns;
};
KERNEL(add_rows, AddRowsArgs, 256) {
  const i64 r = static_cast<i64>(block_x()) * 8 + warp();
  if (r >= a.rows) return;
  const int target = a.target[r];
  if (target < 0) return;
  int earlier = 0;
  for (i64 first = 0; first < r; first += 32) {
    const i64 other = first + lane();
    if (other < r && a.target[other] == target) earlier = 1;
  }
  for (int d = 16; d > 0; d /= 2) earlier = earlier | shuffle_xor(earlier, d);
  if (earlier) return;
  for (i64 first = 0; first < a.columns; first += 32) {
    const i64 c = first + lane();
    W sum = W(0);
    if (c < a.columns) {
      const T before = a.to[target * a.to_pitch + c];
      sum = to_wide(before);
    }
    for (i64 other = r; other < a.rows; ++other) {
      if (a.target[other] != target || c >= a.columns) continue;
      const T own = a.from[other * a.from_pitch + c];
      sum = sum + to_wide(own);
    }
    if (c < a.columns) a.to[target * a.to_pitch + c] = from_wide<T>(sum);
  }
}

// The sum of the columns of each row, by a warp.
struct ColumnsArgs {
  Rows from;
  Global<T> to;
  i64 to_pitch;
  i64 rows, columns;
};
KERNEL(sum_columns, ColumnsArgs, 256) {
  const i64 r = static_cast<i64>(block_x()) * 8 + warp();
  if (r >= a.rows) return;
  Global<const T> row = row_of(a.from, r);
  W sum = W(0);
  for (i64 c = lane(); c < a.columns; c += 32) {
    const T own = row[c];
    sum = sum + to_wide(own);
  }
  for (int d = 16; d > 0; d /= 2) sum = sum + shuffle_xor(sum, d);
  if (lane() == 0) a.to[r * a.to_pitch] = from_wide<T>(sum);
}

// The sum, or maximum, over the edges of each row: [splits[r], splits[r + 1]),
// counted from `first_edge`.
struct EdgesArgs {
  Rows from;
  Global<T> to;
  i64 to_pitch;
  Global<const int> splits;
  i64 first_edge;
  i64 rows, columns;
  int shift;
};
template <bool maximum> FUNCTION void reduce_edges(const EdgesArgs& a) {
  const int width = 1 << a.shift, height = thread_count() >> a.shift;
  const i64 c = static_cast<i64>(block_x()) * width +
                (thread_index() & (width - 1));
  if (c >= a.columns) return;
  for (i64 r = static_cast<i64>(block_y()) * height +
               (thread_index() >> a.shift);
       r < a.rows; r += static_cast<i64>(grid_y()) * height) {
    const i64 begin = a.splits[r] - a.first_edge;
    const i64 end = a.splits[r + 1] - a.first_edge;
    W all = W(0);
    for (i64 e = begin; e < end; ++e) {
      const T own = row_of(a.from, e)[c];
      const W x = to_wide(own);
      if (e == begin) {
        all = x;
      } else if (!maximum) {
        all = all + x;
      } else if (all == all) {
        all = x != x ? x : (all > x ? all : x);
      }
    }
    a.to[r * a.to_pitch + c] = from_wide<T>(all);
  }
}
KERNEL(sum_edges, EdgesArgs, 256) { reduce_edges<false>(a); }
KERNEL(max_edges, EdgesArgs, 256) { reduce_edges<true>(a); }

// 1 where a byte is not 0, else 0.
struct MaskArgs {
  Global<const char> from;
  Global<const int> index;
  i64 from_pitch;
  Global<T> to;
  i64 to_pitch;
  i64 rows, columns;
};
KERNEL(to_mask, MaskArgs, 256) {
  const i64 i = static_cast<i64>(block_x()) * thread_count() + thread_index();
  if (i >= a.rows * a.columns) return;
  const i64 r = i / a.columns, c = i - r * a.columns;
  const i64 row = a.index ? static_cast<i64>(a.index[r]) : r;
  const char own = a.from[row * a.from_pitch + c];
  a.to[r * a.to_pitch + c] = from_wide<T>(own != 0 ? W(1) : W(0));
}

struct FlatArgs {
  Global<const T> narrow;
  Global<T> rounded;
  Global<W> wide;
  Global<u32> raised;
  i64 n;
};
KERNEL(add, FlatArgs, 256) {
  const i64 i = static_cast<i64>(block_x()) * thread_count() + thread_index();
  if (i >= a.n) return;
  const T own = a.narrow[i];
  const W before = a.wide[i];
  a.wide[i] = before + to_wide(own);
}
KERNEL(round_all, FlatArgs, 256) {
  const i64 i = static_cast<i64>(block_x()) * thread_count() + thread_index();
  if (i >= a.n) return;
  const W own = a.wide[i];
  a.rounded[i] = from_wide<T>(own);
}
KERNEL(raise_unless_finite, FlatArgs, 256) {
  bool finite = true;
  for (i64 i = static_cast<i64>(block_x()) * thread_count() + thread_index();
       i < a.n; i += static_cast<i64>(grid_x()) * thread_count()) {
    const T own = a.narrow[i];
    finite = finite && is_finite(to_wide(own));
  }
  if (!finite) atomic_add(a.raised, 1u);
}
)";

}  // namespace

const char* CudaTypeName(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "double";
    case DType::kBFloat16:
      return "Bf16";
    case DType::kFloat16:
      return "F16";
    default:
      return "float";
  }
}

std::string TextOfMoves() { return kMoves; }

std::string TextOfKernels(DType dtype) {
  return std::string("#include \"cavs_device.h\"\ntypedef ") +
         CudaTypeName(dtype) + " T;\n" + kKernels;
}

}  // namespace cavs
