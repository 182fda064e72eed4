#include "cc/device/cuda/source/kernels.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "cc/base/status.h"

namespace cavs {
namespace {

// In all of these kernels, `Rows` is a ConstBlock or a Block. An index of -1
// reads the row before the first one, which exists and holds zeros. The order
// of additions depends only on the operands' sizes and places, and on the
// number of processors, never on which thread is faster.

constexpr char kMoves[] = R"(
struct Unit16 { u32 x[4]; };
struct Unit8 { u32 x[2]; };

// Row r of `to` becomes row r of `from`, or row via[r] - first_via if there is
// a list `via`. If there is a list from_index, it gives the row of `from` for
// that number; to_index gives the row of `to` for r. Zeros are read if the row
// of `from` is -1 or `from` is null. Nothing is written if the row of `to` is
// -1.
struct Move {
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
// Several moves. Blocks of the grid with coordinate z make move z.
struct MovesArgs {
  Move moves[32];
};

template <typename T>
FUNCTION void move(const MovesArgs& all, const Where& at) {
  const Move& a = all.moves[at.z];
  const int width = 1 << a.shift, height = thread_count() >> a.shift;
  const i64 c = static_cast<i64>(at.x) * width +
                (thread_index() & (width - 1));
  if (c >= a.columns) return;
  Global<const T> from = cast<const T>(a.from);
  Global<T> to = cast<T>(a.to);
  for (i64 r = static_cast<i64>(at.y) * height +
               (thread_index() >> a.shift);
       r < a.rows; r += static_cast<i64>(at.height) * height) {
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
)";

// Products of few rows. kMostProducts and kMostSummed are defined before.
constexpr char kFewKernels[] = R"(
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
template <int rows> FUNCTION void clear(W (&sum)[rows][4]) {
UNROLL
  for (int i = 0; i < rows; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) sum[i][j] = W(0);
  }
}
FUNCTION int least(int x, int y) { return x < y ? x : y; }
FUNCTION i64 least(i64 x, i64 y) { return x < y ? x : y; }

// A product is a sum of terms from[r] * weight. It is written to to[r], or
// added to it if `accumulate` is set. In each row of the grid, the blocks from
// first_block to the first_block of the next product compute it.
//
// Blocks of products of few rows have 2^shift columns of a product, and as many
// of each product that follows in the columns of a tile. So a block has the same
// columns of all products that a group is computed of (see
// TextOfProductsThenGroup). A tile has 2^log_rows rows and 2^log_columns columns:
// 16 rows, or all if there are fewer, and 128 to 512 numbers.
struct Term {
  Rows from;
  Global<const T> weight;
  i64 pitch;
  int depth;
  int transpose;
};
struct Product {
  Global<T> to;
  i64 to_pitch;
  int rows, width;
  int first_block;
  int num_terms;
  int accumulate;
  Term terms[4];
};
// If `alike` is set, all rows of an operand are alike: one is multiplied.
struct ProductsArgs {
  int num_products;
  int alike;
  int shift;
  int log_rows;
  int log_columns;
  int unused;
  Product products[kMostProducts];
};
// A sum of rows that terms of the products read. Row r of it is the sum of row r
// of each of its terms, in this order.
struct RowSum {
  Global<T> to;
  i64 to_pitch;
  int columns;
  int num_terms;
  Rows terms[kMostSummed];
};
struct ProductsOfSumArgs {
  RowSum sum;
  ProductsArgs products;
};
FUNCTION int product_of(const ProductsArgs& a, int block) {
  int p = 0;
  while (p + 1 < a.num_products && a.products[p + 1].first_block <= block) {
    ++p;
  }
  return p;
}

// Reads four numbers of a row from column c on, as wide numbers.
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

// A sum of rows in shared memory, from row row0 on.
struct SummedRows {
  Shared<T> rows;
  i64 row0;
};
// Row r of the operand of a term. One without data is the sum.
template <bool summed>
FUNCTION Global<const T> row_of(const Rows& rows, i64 r,
                                const SummedRows& sum) {
  if (summed && !rows.data) {
    return anywhere<const T>(sum.rows + (r - sum.row0) * rows.pitch);
  }
  return row_of(rows, r);
}

// Forms 16 rows of a sum, and writes those before end_row if `writes` is set.
// The order of additions is that of the group that it stands in for. As many
// numbers as possible are on their way at a time.
FUNCTION void form_sum(const RowSum& a, const SummedRows& own, i64 end_row,
                       bool writes) {
  const int i = thread_index() >> 4;
  const i64 r = least(own.row0 + i, end_row - 1);
  Shared<T> line = own.rows + i * (a.columns + 4);
  Global<T> to = a.to + r * a.to_pitch;
  Global<const T> terms[kMostSummed];
UNROLL
  for (int t = 0; t < kMostSummed; ++t) {
    terms[t] = row_of(a.terms[t < a.num_terms ? t : 0], r);
  }
  for (int c = (thread_index() & 15) * 4; c < a.columns; c += 256) {
    W sum[4][4];
UNROLL
    for (int t = 0; t < kMostSummed; ++t) {
      if (t >= a.num_terms) break;
      W x[4][4];
UNROLL
      for (int h = 0; h < 4; ++h) {
        if (c + h * 64 < a.columns) read4<true>(terms[t], c + h * 64, 0, x[h]);
      }
UNROLL
      for (int k = 0; k < 16; ++k) {
        W& all = sum[k / 4][k % 4];
        all = t == 0 ? x[k / 4][k % 4] : all + x[k / 4][k % 4];
      }
    }
UNROLL
    for (int k = 0; k < 16; ++k) {
      const int at = c + k / 4 * 64 + k % 4;
      if (at >= a.columns) break;
      line[at] = from_wide<T>(sum[k / 4][k % 4]);
      if (writes && own.row0 + i == r) to[at] = line[at];
    }
  }
}

// Adds one of 2^log_parts parts of a term to sum[i][j], for the rows row + i and
// the columns column + j of a product. Threads without a row or column compute
// the numbers of another thread.
template <bool vector, bool transpose, bool summed>
FUNCTION void add_term_few(const Product& own, const Term& term, int row,
                           const SummedRows& rows, int column, int part,
                           int log_parts, W (&sum)[4][4]) {
  const int last = own.rows - 1, width = own.width;
  Global<const T> x_rows[4] = {
      row_of<summed>(term.from, least(row, last), rows),
      row_of<summed>(term.from, least(row + 1, last), rows),
      row_of<summed>(term.from, least(row + 2, last), rows),
      row_of<summed>(term.from, least(row + 3, last), rows)};
  if (vector && !transpose) column = least(column, width - 4);
  const int each = ((term.depth - 1) >> (log_parts + 2)) * 4 + 4;
  const int begin = part * each;
  const int end = least(begin + each, term.depth);
#pragma unroll (sizeof(T) > 4 ? 1 : 2)
  for (int k = begin; k < end; k += 4) {
    W x[4][4];
UNROLL
    for (int i = 0; i < 4; ++i) read4<vector>(x_rows[i], k, end, x[i]);
UNROLL
    for (int y = 0; y < 4; ++y) {  // A column of the weight, or a row of it.
      W line[4] = {W(0), W(0), W(0), W(0)};
      if (transpose) {
        const int c = least(column + y, width - 1);
        read4<vector>(term.weight + c * term.pitch, k, end, line);
      } else if (vector || k + y < end) {
        read4<vector>(term.weight + (k + y) * term.pitch, column, width, line);
      }
UNROLL
      for (int z = 0; z < 4; ++z) {
UNROLL
        for (int i = 0; i < 4; ++i) {
          W& own = sum[i][transpose ? y : z];
          own = fma(x[i][transpose ? z : y], line[z], own);
        }
      }
    }
  }
}

// Computes products of few rows. A block computes a tile, of the products from
// `first` on. As many threads as are needed for its numbers, side by side, take a
// part of the depth, and each thread computes 4 x 4 numbers of the part. Then the
// parts are added, and written to the rows before end_row: to more than the tile
// has if the rows are alike.
template <bool vector, bool summed>
FUNCTION void tile_few(const ProductsArgs& a, int first, int row0, int end_row,
                       int column0, Shared<W> parts, const SummedRows& rows) {
  const int width = 1 << a.log_columns, height = 1 << a.log_rows;
  const int log_numbers = a.log_rows + a.log_columns;
  const int log_parts = 12 - log_numbers;
  const int part = thread_index() >> (log_numbers - 4);
  const int in_tile = (thread_index() * 4) & (width - 1);
  const int row_in_tile =
      (thread_index() >> (a.log_columns - 2) << 2) & (height - 1);
  const int each = (1 << a.shift) - 1;
  const int column = column0 + (in_tile & each);
  const Product& product =
      a.products[least(first + (in_tile >> a.shift), a.num_products - 1)];
  W sum[4][4];
  clear(sum);
  for (int t = 0; t < product.num_terms; ++t) {
    const Term& term = product.terms[t];
    if (term.transpose) {
      add_term_few<vector, true, summed>(product, term, row0 + row_in_tile,
                                         rows, column, part, log_parts, sum);
    } else {
      add_term_few<vector, false, summed>(product, term, row0 + row_in_tile,
                                          rows, column, part, log_parts, sum);
    }
  }
UNROLL
  for (int i = 0; i < 4; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) {
      parts[(part << log_numbers) + (row_in_tile + i) * width + in_tile + j] =
          sum[i][j];
    }
  }
  barrier();
  for (int e = thread_index(); e < 1 << log_numbers; e += 256) {
    const int in_row = e & (width - 1);
    const int p = first + (in_row >> a.shift), c = column0 + (in_row & each);
    if (p >= a.num_products) continue;
    const Product& to = a.products[p];
    if (c >= to.width) continue;
    W all = parts[e];
#pragma unroll 8
    for (int i = 1; i < 1 << log_parts; ++i) {
      all = all + parts[(i << log_numbers) + e];
    }
    for (i64 r = row0 + (e >> a.log_columns); r < end_row; r += height) {
      const i64 i = r * to.to_pitch + c;
      W own = all;
      if (to.accumulate) {
        const T before = to.to[i];
        own = to_wide(before) + own;
      }
      to.to[i] = from_wide<T>(own);
    }
  }
}
// If there is a sum, the blocks of the first columns write it, too.
template <bool vector, bool summed>
FUNCTION void products_few(const ProductsArgs& a, const RowSum* sum,
                           const Where& at) {
  const int first = product_of(a, at.x);
  const Product& product = a.products[first];
  const int column0 = (at.x - product.first_block) << a.shift;
  Shared<W> parts = cast<W>(at.memory);
  i64 row0 = static_cast<i64>(at.y) * 16;
  while (row0 < product.rows) {
    const int end = a.alike ? product.rows : static_cast<int>(row0) + 16;
    const SummedRows rows = {cast<T>(parts + 8 * 512), row0};
    if (summed) {
      form_sum(*sum, rows, product.rows, at.x == 0);
      barrier();
    }
    tile_few<vector, summed>(a, first, row0, least(end, product.rows), column0,
                             parts, rows);
    if (a.alike) return;
    row0 += static_cast<i64>(at.height) * 16;
    if (row0 < product.rows) barrier();
  }
}
)";

// Tiles of 64 * n lines of 16 numbers in shared memory. Number k of line i lies
// at k * (64 * n + 4) + i. A block multiplies each line of one tile with each
// line of another tile. Each thread computes 16 * n * n of these products: of
// four lines next to each other among each 64 lines.
constexpr char kFmaTiles[] = R"(
typedef W Cell;  // The type of the numbers that tiles hold and threads read.
template <int n> FUNCTION int tile_size() { return 16 * (64 * n + 4); }
template <int n>
FUNCTION void write_cell(Shared<Cell> tile, int i, int k, Cell x) {
  tile[k * (64 * n + 4) + i] = x;
}
template <int n>
FUNCTION void multiply_tiles(Shared<Cell> x, Shared<Cell> y,
                             W (&sum)[4 * n * n][4]) {
  const int row = thread_index() / 16 * 4, column = (thread_index() & 15) * 4;
#pragma unroll (n == 1 ? 16 : 4)
  for (int k = 0; k < 16; ++k) {
    Four<W> u[n], v[n];
UNROLL
    for (int h = 0; h < n; ++h) {
      u[h] = load4(x, k * (64 * n + 4) + h * 64 + row);
      v[h] = load4(y, k * (64 * n + 4) + h * 64 + column);
    }
UNROLL
    for (int i = 0; i < 4 * n; ++i) {
UNROLL
      for (int j = 0; j < 4 * n; ++j) {
        W& own = sum[i * n + j / 4][j % 4];
        own = fma(u[i / 4].x[i % 4], v[j / 4].x[j % 4], own);
      }
    }
  }
}
// The lines of x and of y whose product is sum[i][j].
template <int n> FUNCTION int line_of_x(int i, int j) {
  return i / n / 4 * 64 + thread_index() / 16 * 4 + i / n % 4;
}
template <int n> FUNCTION int line_of_y(int i, int j) {
  return i % n * 64 + (thread_index() & 15) * 4 + j;
}
)";

// The same tiles for tensor cores, with numbers of 16 bits. Number k of line i
// lies at i * 24 + k, so that a thread reads two numbers at a time and the
// threads of a warp read from different banks. Each warp multiplies 16 lines of
// x with 32 lines of y, or 64 with 32 if tiles have 128 lines. `mma` is the
// function for the type of the numbers (see TilesOf).
constexpr char kMmaTiles[] = R"(
typedef T Cell;
template <int n> FUNCTION int tile_size() { return 64 * n * 24; }
template <int n>
FUNCTION void write_cell(Shared<Cell> tile, int i, int k, Cell x) {
  tile[i * 24 + k] = x;
}
template <int n>
FUNCTION void multiply_tiles(Shared<Cell> x, Shared<Cell> y,
                             W (&sum)[4 * n * n][4]) {
  Shared<u32> u = cast<u32>(x), v = cast<u32>(y);
  const int group = lane() >> 2, k = lane() & 3;
  u32 b[4][2];
UNROLL
  for (int i = 0; i < 4; ++i) {
    const int column = (column_of_warp<n>() + i * 8 + group) * 12 + k;
    b[i][0] = v[column];
    b[i][1] = v[column + 4];
  }
UNROLL
  for (int r = 0; r < n * n; ++r) {
    const int row = (row_of_warp<n>() + r * 16 + group) * 12 + k;
    const u32 a[4] = {u[row], u[row + 8 * 12], u[row + 4],
                      u[row + 8 * 12 + 4]};
UNROLL
    for (int i = 0; i < 4; ++i) mma(sum[r * 4 + i], a, b[i]);
  }
}
)";

// The tiles of float32 for tensor cores, whose numbers are rounded to TF32.
// Number k of line i lies at k * (64 * n + 8) + i, so that the threads of a
// warp read from different banks.
constexpr char kTf32Tiles[] = R"(
typedef W Cell;
template <int n> FUNCTION int tile_size() { return 16 * (64 * n + 8); }
template <int n>
FUNCTION void write_cell(Shared<Cell> tile, int i, int k, Cell x) {
  tile[k * (64 * n + 8) + i] = round_tf32(x);
}
template <int n>
FUNCTION void multiply_tiles(Shared<Cell> x, Shared<Cell> y,
                             W (&sum)[4 * n * n][4]) {
  Shared<u32> u = cast<u32>(x), v = cast<u32>(y);
  const int group = lane() >> 2, below = 4 * (64 * n + 8);
UNROLL
  for (int k = lane() & 3; k < 16; k += 8) {
    u32 b[4][2];
UNROLL
    for (int i = 0; i < 4; ++i) {
      const int column =
          k * (64 * n + 8) + column_of_warp<n>() + i * 8 + group;
      b[i][0] = v[column];
      b[i][1] = v[column + below];
    }
UNROLL
    for (int r = 0; r < n * n; ++r) {
      const int row = k * (64 * n + 8) + row_of_warp<n>() + r * 16 + group;
      const u32 a[4] = {u[row], u[row + 8], u[row + below],
                        u[row + below + 8]};
UNROLL
      for (int i = 0; i < 4; ++i) mma_tf32(sum[r * 4 + i], a, b[i]);
    }
  }
}
)";

// Where tensor cores put what they compute.
constexpr char kMmaLines[] = R"(
template <int n> FUNCTION int row_of_warp() {
  return n == 1 ? (warp() >> 1) * 16 : (warp() >> 2) * 64;
}
template <int n> FUNCTION int column_of_warp() {
  return (n == 1 ? warp() & 1 : warp() & 3) * 32;
}
template <int n> FUNCTION int line_of_x(int i, int j) {
  return row_of_warp<n>() + i / 4 * 16 + (lane() >> 2) + (j >> 1) * 8;
}
template <int n> FUNCTION int line_of_y(int i, int j) {
  return column_of_warp<n>() + i % 4 * 8 + (lane() & 3) * 2 + (j & 1);
}
)";

constexpr char kLargeKernels[] = R"(
// Reads a tile, 4 * n numbers for each thread. `row(h, i)` is line i, and its
// numbers from k on are read.
template <bool vector, int n, typename Row>
FUNCTION void read_tile(const Row& row, i64 lines, i64 k, i64 depth,
                        Cell (&x)[n][4]) {
  const int first = (thread_index() & 3) * 4;
UNROLL
  for (int h = 0; h < n; ++h) {
    const int i = h * 64 + thread_index() / 4;
UNROLL
    for (int j = 0; j < 4; ++j) x[h][j] = Cell();
    if (i >= lines || k + first >= depth) continue;
    read4<vector>(row(h, i), k + first, depth, x[h]);
  }
}
template <int n>
FUNCTION void write_tile(Shared<Cell> tile, const Cell (&x)[n][4]) {
  const int i = thread_index() / 4, first = (thread_index() & 3) * 4;
UNROLL
  for (int h = 0; h < n; ++h) {
UNROLL
    for (int j = 0; j < 4; ++j) {
      write_cell<n>(tile, h * 64 + i, first + j, x[h][j]);
    }
  }
}
// Reads a tile likewise, if the k-th numbers of all lines are one row,
// `row(k)`.
template <bool vector, int n, typename Row>
FUNCTION void read_lines(const Row& row, i64 columns, i64 lines,
                         Cell (&x)[n][4]) {
  const int k = thread_index() / 16;
UNROLL
  for (int h = 0; h < n; ++h) {
UNROLL
    for (int j = 0; j < 4; ++j) x[h][j] = Cell();
  }
  if (k >= lines) return;
  Global<const T> own = row(k);
UNROLL
  for (int h = 0; h < n; ++h) {
    const int first = h * 64 + (thread_index() & 15) * 4;
    if (first < columns) read4<vector>(own, first, columns, x[h]);
  }
}
template <int n>
FUNCTION void write_lines(Shared<Cell> tile, const Cell (&x)[n][4]) {
  const int k = thread_index() / 16, first = (thread_index() & 15) * 4;
UNROLL
  for (int h = 0; h < n; ++h) {
UNROLL
    for (int j = 0; j < 4; ++j) {
      write_cell<n>(tile, h * 64 + first + j, k, x[h][j]);
    }
  }
}

// Adds the products of lines of two tiles, step by step. `read` reads the tiles
// of a step into x and y. While they are multiplied, the next ones are read, and
// then written to the other half of the memory.
template <int n, bool x_lines, bool y_lines, typename Read>
FUNCTION void add_steps(i64 begin, i64 end, const Read& read,
                        const Cell (&x)[n][4], const Cell (&y)[n][4],
                        Shared<Cell> tiles, W (&sum)[4 * n * n][4]) {
  int half = 0;
  read(begin);
  for (i64 k = begin; k < end; k += 16) {
    Shared<Cell> x_tile = tiles + half * tile_size<n>();
    Shared<Cell> y_tile = x_tile + tile_size<n>();
    if (x_lines) write_lines<n>(x_tile, x);
    else write_tile<n>(x_tile, x);
    if (y_lines) write_lines<n>(y_tile, y);
    else write_tile<n>(y_tile, y);
    barrier();
    if (k + 16 < end) read(k + 16);
    multiply_tiles<n>(x_tile, y_tile, sum);
    half = 2 - half;
  }
  barrier();
}

// Adds a term to the numbers of a block.
template <bool vector, int n, bool transpose>
FUNCTION void add_term_many(const Term& term, const Product& product, int row0,
                            int column0, Shared<Cell> tiles,
                            W (&sum)[4 * n * n][4]) {
  const int rows = product.rows - row0, columns = product.width - column0;
  Global<const T> x_rows[n];
UNROLL
  for (int h = 0; h < n; ++h) {
    x_rows[h] = row_of(term.from, least(row0 + h * 64 + thread_index() / 4,
                                        product.rows - 1));
  }
  Cell x[n][4], y[n][4];
  const auto read = [&](i64 k) {
    read_tile<vector, n>([&](int h, int) { return x_rows[h]; }, rows, k,
                         term.depth, x);
    if (transpose) {
      read_tile<vector, n>(
          [&](int, int j) { return term.weight + (column0 + j) * term.pitch; },
          columns, k, term.depth, y);
    } else {
      read_lines<vector, n>(
          [&](int i) { return term.weight + (k + i) * term.pitch + column0; },
          columns, term.depth - k, y);
    }
  };
  add_steps<n, false, !transpose>(0, term.depth, read, x, y, tiles, sum);
}

// Computes a product of many rows. A block computes 64 * n x 64 * n numbers, and
// each thread 16 * n * n of them.
template <bool vector, int n>
FUNCTION void tile_many(const Product& product, int row0, int column0,
                        Shared<Cell> tiles) {
  W sum[4 * n * n][4];
  clear(sum);
  for (int t = 0; t < product.num_terms; ++t) {
    const Term& term = product.terms[t];
    if (term.transpose) {
      add_term_many<vector, n, true>(term, product, row0, column0, tiles, sum);
    } else {
      add_term_many<vector, n, false>(term, product, row0, column0, tiles, sum);
    }
  }
UNROLL
  for (int i = 0; i < 4 * n * n; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) {
      const int r = row0 + line_of_x<n>(i, j), c = column0 + line_of_y<n>(i, j);
      if (r >= product.rows || c >= product.width) continue;
      const i64 place = static_cast<i64>(r) * product.to_pitch + c;
      W all = sum[i][j];
      if (product.accumulate) {
        const T before = product.to[place];
        all = to_wide(before) + all;
      }
      product.to[place] = from_wide<T>(all);
    }
  }
}
template <bool vector, int n>
FUNCTION void products_many(const ProductsArgs& a, const Where& at) {
  const Product& product = a.products[product_of(a, at.x)];
  const int column0 = (at.x - product.first_block) * 64 * n;
  for (i64 row0 = static_cast<i64>(at.y) * 64 * n; row0 < product.rows;
       row0 += static_cast<i64>(at.height) * 64 * n) {
    tile_many<vector, n>(product, row0, column0, cast<Cell>(at.memory));
  }
}

// A sum over rows: transpose(x) * y, or the sum of y if there is no x. It is
// computed in parts of rows_per_part rows, which are stored one after the
// other. If there are several parts, `add_parts` then adds them in order.
struct Sum {
  Rows x, y;
  Global<W> to;
  i64 rows, rows_per_part;
  int x_columns, y_columns;
  int accumulate;
  int vector;
  int first_block;  // The blocks of a part precede the blocks of the next part.
  // The first rows of x are zero. They are not multiplied: zero times these
  // rows of y is added, which is NaN if those are not finite.
  int zeros, zeros_per_part;
};
// The rows of a part: those whose x is zero, and others.
struct Part {
  i64 first_zero, end_zero, begin, end;
};
struct SumsArgs {
  int num_sums;
  Sum sums[30];
};

// Adds zero times the first rows of y. Each thread computes a part of a column.
template <int n>
FUNCTION W zero_times(const Sum& own, int column0, const Part& part) {
  const int c = column0 + (thread_index() & (64 * n - 1));
  W sum = W(0);
  if (c >= own.y_columns) return sum;
#pragma unroll 4
  for (i64 r = part.first_zero + thread_index() / (64 * n); r < part.end_zero;
       r += 4 / n) {
    const T number = row_of(own.y, r)[c];
    sum = fma(W(0), to_wide(number), sum);
  }
  return sum;
}

template <bool vector, int n>
FUNCTION void weight_grad(const Sum& own, int tile, const Part& part,
                          Global<W> to, Shared<char> memory) {
  const int tiles = (own.y_columns + 64 * n - 1) / (64 * n);
  const int row0 = tile / tiles * 64 * n, column0 = tile % tiles * 64 * n;
  W sum[4 * n * n][4];
  clear(sum);
  Cell x[n][4], y[n][4];
  const auto read = [&](i64 k) {
    read_lines<vector, n>([&](int i) { return row_of(own.x, k + i) + row0; },
                          own.x_columns - row0, part.end - k, x);
    read_lines<vector, n>([&](int i) { return row_of(own.y, k + i) + column0; },
                          own.y_columns - column0, part.end - k, y);
  };
  add_steps<n, true, true>(part.begin, part.end, read, x, y,
                           cast<Cell>(memory), sum);
  Shared<W> of_zeros = cast<W>(memory);
  if (own.zeros > 0) {
    of_zeros[thread_index()] = zero_times<n>(own, column0, part);
    barrier();
  }
UNROLL
  for (int i = 0; i < 4 * n * n; ++i) {
UNROLL
    for (int j = 0; j < 4; ++j) {
      const int r = row0 + line_of_x<n>(i, j), c = column0 + line_of_y<n>(i, j);
      if (r >= own.x_columns || c >= own.y_columns) continue;
      const i64 at = static_cast<i64>(r) * own.y_columns + c;
      W all = sum[i][j];
      if (own.zeros > 0) {
UNROLL
        for (int k = 0; k < 4 / n; ++k) {
          all = all + of_zeros[k * 64 * n + line_of_y<n>(i, j)];
        }
      }
      if (own.accumulate) all = to[at] + all;
      to[at] = all;
    }
  }
}

// Computes a sum without x. A block adds up 32 columns, and each warp every
// eighth row of them.
FUNCTION void sum_rows(const Sum& own, int tile, const Part& part,
                       Global<W> to, Shared<char> memory) {
  Shared<W> parts = cast<W>(memory);
  const int c = tile * 32 + lane();
  W sum = W(0);
  if (c < own.y_columns) {
#pragma unroll 4
    for (i64 r = part.begin + warp(); r < part.end; r += 8) {
      const T number = row_of(own.y, r)[c];
      sum = sum + to_wide(number);
    }
  }
  parts[thread_index()] = sum;
  barrier();
  if (warp() != 0 || c >= own.y_columns) return;
  for (int i = 1; i < 8; ++i) sum = sum + parts[i * 32 + lane()];
  if (own.accumulate) sum = to[c] + sum;
  to[c] = sum;
}

template <int n> FUNCTION void sums(const SumsArgs& a, const Where& at) {
  int number = 0;
  while (number + 1 < a.num_sums && a.sums[number + 1].first_block <= at.x) {
    ++number;
  }
  const Sum& own = a.sums[number];
  const bool product = own.x_columns > 0;
  const int size = 64 * n;
  const int tiles = product ? (own.x_columns + size - 1) / size *
                                  ((own.y_columns + size - 1) / size)
                            : (own.y_columns + 31) / 32;
  const int block = at.x - own.first_block;
  const int number_of_part = block / tiles, tile = block % tiles;
  Part part;
  part.first_zero = static_cast<i64>(number_of_part) * own.zeros_per_part;
  part.end_zero = least(part.first_zero + own.zeros_per_part,
                        static_cast<i64>(own.zeros));
  part.begin = own.zeros + number_of_part * own.rows_per_part;
  part.end = least(part.begin + own.rows_per_part, own.rows);
  const i64 size_of_part =
      static_cast<i64>(product ? own.x_columns : 1) * own.y_columns;
  Global<W> to = own.to + number_of_part * size_of_part;
  if (!product) {
    sum_rows(own, tile, part, to, at.memory);
  } else if (n > 1 || own.vector) {
    weight_grad<true, n>(own, tile, part, to, at.memory);
  } else {
    weight_grad<n != 1, n>(own, tile, part, to, at.memory);
  }
}

struct Parts {
  Global<const W> parts;
  Global<W> to;
  i64 n;
  int num_parts;
  int accumulate;
  int first_block;
};
struct PartsArgs {
  int num_sums;
  Parts sums[30];
};
FUNCTION void add_parts(const PartsArgs& a, const Where& at) {
  int number = 0;
  while (number + 1 < a.num_sums && a.sums[number + 1].first_block <= at.x) {
    ++number;
  }
  const Parts& own = a.sums[number];
  const i64 i = static_cast<i64>(at.x - own.first_block) * 256 +
                thread_index();
  if (i >= own.n) return;
  W sum = own.parts[i];
  for (int p = 1; p < own.num_parts; ++p) sum = sum + own.parts[p * own.n + i];
  if (own.accumulate) sum = own.to[i] + sum;
  own.to[i] = sum;
}

// Row r of `from` is added to row target[r] of `to`. Rows with the same target
// are added in order, by the warp of the first of these rows. The one before
// row r lies links[2 * r] rows before it, the one behind it links[2 * r + 1]
// rows behind it, perhaps outside of these rows; 0: there is none.
struct AddRowsArgs {
  Global<const T> from;
  i64 from_pitch;
  Global<W> to;
  i64 to_pitch;
  Global<const int> target, links;
  i64 rows, columns;
};
FUNCTION void add_rows(const AddRowsArgs& a, const Where& at) {
  const i64 r = static_cast<i64>(at.x) * 8 + warp();
  if (r >= a.rows) return;
  const int target = a.target[r], before = a.links[2 * r];
  if (target < 0 || (before > 0 && before <= r)) return;
  for (i64 c = lane(); c < a.columns; c += 32) {
    W sum = a.to[target * a.to_pitch + c];
    for (i64 other = r; other < a.rows;) {
      const int behind = a.links[2 * other + 1];
      const T own = a.from[other * a.from_pitch + c];
      sum = sum + to_wide(own);
      other += behind > 0 ? behind : a.rows;
    }
    a.to[target * a.to_pitch + c] = sum;
  }
}

// Row r of `to` becomes row index[r] of `from`, rounded, or zeros if index[r]
// is -1.
struct RoundRowsArgs {
  Global<const W> from;
  Global<const int> index;
  i64 from_pitch;
  Global<T> to;
  i64 to_pitch;
  i64 rows, columns;
};
FUNCTION void round_rows(const RoundRowsArgs& a, const Where& at) {
  const i64 i = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (i >= a.rows * a.columns) return;
  const i64 r = i / a.columns, c = i - r * a.columns;
  const i64 row = a.index[r];
  W own = W(0);
  if (row >= 0) own = a.from[row * a.from_pitch + c];
  a.to[r * a.to_pitch + c] = from_wide<T>(own);
}

// A warp computes the sum of the columns of a row.
struct ColumnsArgs {
  Rows from;
  Global<T> to;
  i64 to_pitch;
  i64 rows, columns;
};
FUNCTION void sum_columns(const ColumnsArgs& a, const Where& at) {
  const i64 r = static_cast<i64>(at.x) * 8 + warp();
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

// Row r of `to` becomes the sum or the maximum over the edges of row r, which
// are [splits[r], splits[r + 1]). The rows of `from` begin with edge
// first_edge.
struct EdgesArgs {
  Rows from;
  Global<T> to;
  i64 to_pitch;
  Global<const int> splits;
  i64 first_edge;
  i64 rows, columns;
  int shift;
};
template <bool maximum> FUNCTION W reduced(W all, W x) {
  if (!maximum) return all + x;
  if (all != all) return all;
  return x != x ? x : (all > x ? all : x);
}
// In order, but of many edges eight are on their way at a time.
template <bool maximum>
FUNCTION void reduce_edges(const EdgesArgs& a, const Where& at) {
  const int width = 1 << a.shift, height = thread_count() >> a.shift;
  const i64 c = static_cast<i64>(at.x) * width +
                (thread_index() & (width - 1));
  if (c >= a.columns) return;
  for (i64 r = static_cast<i64>(at.y) * height +
               (thread_index() >> a.shift);
       r < a.rows; r += static_cast<i64>(at.height) * height) {
    const i64 begin = a.splits[r] - a.first_edge;
    const i64 end = a.splits[r + 1] - a.first_edge;
    W all = W(0);
    i64 e = begin;
    for (; e + 8 <= end; e += 8) {
      T x[8];
UNROLL
      for (int k = 0; k < 8; ++k) x[k] = row_of(a.from, e + k)[c];
UNROLL
      for (int k = 0; k < 8; ++k) {
        all = e + k == begin ? to_wide(x[k])
                             : reduced<maximum>(all, to_wide(x[k]));
      }
    }
    for (; e < end; ++e) {
      const T x = row_of(a.from, e)[c];
      all = e == begin ? to_wide(x) : reduced<maximum>(all, to_wide(x));
    }
    a.to[r * a.to_pitch + c] = from_wide<T>(all);
  }
}

// Row r of `to` is 1 where the byte of `from` is not 0, else 0.
struct MaskArgs {
  Global<const char> from;
  Global<const int> index;
  i64 from_pitch;
  Global<T> to;
  i64 to_pitch;
  i64 rows, columns;
};
FUNCTION void to_mask(const MaskArgs& a, const Where& at) {
  const i64 i = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (i >= a.rows * a.columns) return;
  const i64 r = i / a.columns, c = i - r * a.columns;
  const i64 row = a.index ? static_cast<i64>(a.index[r]) : r;
  const char own = a.from[row * a.from_pitch + c];
  a.to[r * a.to_pitch + c] = from_wide<T>(own != 0 ? W(1) : W(0));
}

// Each number of `to` becomes that of `from`, converted.
template <typename From> struct CastArgs {
  Global<const From> from;
  Global<const int> index;
  i64 from_pitch;
  Global<T> to;
  i64 to_pitch;
  i64 rows, columns;
};
template <typename From>
FUNCTION void cast_rows(const CastArgs<From>& a, const Where& at) {
  const i64 i = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (i >= a.rows * a.columns) return;
  const i64 r = i / a.columns, c = i - r * a.columns;
  const i64 row = a.index ? static_cast<i64>(a.index[r]) : r;
  const From own = a.from[row * a.from_pitch + c];
  a.to[r * a.to_pitch + c] = from_wide<T>(static_cast<W>(to_wide(own)));
}

struct FlatArgs {
  Global<const T> narrow;
  Global<T> rounded;
  Global<W> wide;
  i64 n;
};
FUNCTION void add(const FlatArgs& a, const Where& at) {
  const i64 i = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (i >= a.n) return;
  const T own = a.narrow[i];
  const W before = a.wide[i];
  a.wide[i] = before + to_wide(own);
}
FUNCTION void round_all(const FlatArgs& a, const Where& at) {
  const i64 i = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (i >= a.n) return;
  const W own = a.wide[i];
  a.rounded[i] = from_wide<T>(own);
}

// Draws a mask of dropout (see DrawnMask). The order of the numbers is as in
// the CPU's DrawMask: one counter gives the numbers of four columns, which are
// 16 columns apart.
struct DrawArgs {
  Global<const i64> seed;
  Global<const int> numbers;
  Global<const int> index;
  i64 numbers_pitch;
  u32 number, threshold;
  double kept;
  Global<T> to;
  i64 to_pitch;
  i64 rows, columns;
};
template <int bits> FUNCTION void mix(u32& x, u32& y) {
  x += y;
  y = (y << bits | y >> (32 - bits)) ^ x;
}
template <int ab, int cd, int ad, int cb> FUNCTION void mix_all(u32 (&w)[4]) {
  mix<ab>(w[0], w[1]);
  mix<cd>(w[2], w[3]);
  mix<ad>(w[0], w[3]);
  mix<cb>(w[2], w[1]);
}
FUNCTION void draw_mask(const DrawArgs& a, const Where& at) {
  const i64 each = (a.columns + 63) / 64 * 16;  // Counters per row.
  const i64 i = static_cast<i64>(at.x) * thread_count() + thread_index();
  if (i >= a.rows * each) return;
  const i64 r = i / each, counter = i - r * each;
  const i64 row = a.index ? static_cast<i64>(a.index[r]) : r;
  const int own = a.numbers[row * a.numbers_pitch];
  const i64 first_seed = a.seed[0], second_seed = a.seed[1];
  const u32 low = static_cast<u32>(first_seed);
  const u32 high = static_cast<u32>(second_seed);
  const u32 key[5] = {low, high, a.number, 0u,
                      0x1BD11BDAu ^ low ^ high ^ a.number};
  u32 w[4] = {static_cast<u32>(counter), static_cast<u32>(own), 0u, 0u};
UNROLL
  for (u32 step = 0; step < 6; ++step) {
UNROLL
    for (u32 k = 0; k < 4; ++k) w[k] += key[(step + k) % 5];
    w[3] += step;
    if (step == 5) break;
    if (step % 2 == 0) {
      mix_all<10, 26, 11, 21>(w);
      mix_all<13, 27, 23, 5>(w);
    } else {
      mix_all<6, 20, 17, 11>(w);
      mix_all<25, 10, 18, 20>(w);
    }
  }
  const i64 first = counter / 16 * 64 + counter % 16;
UNROLL
  for (int k = 0; k < 4; ++k) {
    const i64 c = first + k * 16;
    if (c >= a.columns) continue;
    a.to[r * a.to_pitch + c] =
        from_wide<T>(w[k] < a.threshold ? W(0) : static_cast<W>(a.kept));
  }
}
)";

}  // namespace

int CudaTypeNumber(DType dtype) {
  return static_cast<int>(std::find(std::begin(FloatTypes::kDTypes),
                                    std::end(FloatTypes::kDTypes), dtype) -
                          std::begin(FloatTypes::kDTypes));
}

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

namespace {

// Products with tensor cores read narrow numbers without widening them.
constexpr char kMmaBegin[] = R"(
template <bool vector>
FUNCTION void read4(Global<const T> row, i64 c, i64 end, T (&x)[4]) {
  if (vector) {
    const Four<T> four = load4(row, c);
UNROLL
    for (int i = 0; i < 4; ++i) x[i] = four.x[i];
  } else {
UNROLL
    for (int i = 0; i < 4; ++i) {
      x[i] = T();
      if (c + i < end) {
        const T own = row[c + i];
        x[i] = own;
      }
    }
  }
}
FUNCTION void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
)";

std::string MostProducts(int number) {
  return StrCat("enum { kMostProducts = ", number,
                ", kMostSummed = ", kCudaMostSummed, " };\n");
}

std::string TilesOf(DType dtype, bool tf32) {
  if (dtype == DType::kFloat32 && tf32) return StrCat(kMmaLines, kTf32Tiles);
  switch (dtype) {
    case DType::kBFloat16:
      return StrCat(kMmaBegin, "  mma_bf16(d, a, b);\n}\n", kMmaLines,
                    kMmaTiles);
    case DType::kFloat16:
      return StrCat(kMmaBegin, "  mma_f16(d, a, b);\n}\n", kMmaLines,
                    kMmaTiles);
    default:
      return kFmaTiles;
  }
}

}  // namespace

std::shared_ptr<const CudaText> TextOfMoves() {
  return std::make_shared<CudaText>(
      CudaText{kMoves,
               {{"move1", "MovesArgs", "move<char>(a, at)"},
                {"move2", "MovesArgs", "move<u16>(a, at)"},
                {"move4", "MovesArgs", "move<u32>(a, at)"},
                {"move8", "MovesArgs", "move<Unit8>(a, at)"},
                {"move16", "MovesArgs", "move<Unit16>(a, at)"}}});
}

std::shared_ptr<const CudaText> TextOfKernels(DType dtype, bool tf32) {
  // Registers do not suffice for large tiles of float64.
  const int large = dtype == DType::kFloat64 ? 1 : 2;
  // The kernels are in the order of CudaKernel.
  CudaText text = {
      StrCat("typedef ", CudaTypeName(dtype), " T;\n",
             MostProducts(kCudaMostProducts), kFewKernels, TilesOf(dtype, tf32),
             kLargeKernels),
      {{"products_few", "ProductsArgs",
        "products_few<false, false>(a, nullptr, at)"},
       {"products_few_vector", "ProductsArgs",
        "products_few<true, false>(a, nullptr, at)", dtype == DType::kFloat64},
       {"products_of_sum", "ProductsOfSumArgs",
        "products_few<true, true>(a.products, &a.sum, at)", true},
       {"products_many", "ProductsArgs", "products_many<false, 1>(a, at)"},
       {"products_many_vector", "ProductsArgs",
        "products_many<true, 1>(a, at)"},
       {"products_large", "ProductsArgs",
        StrCat("products_many<true, ", large, ">(a, at)")},
       {"sums", "SumsArgs", "sums<1>(a, at)", true},
       {"sums_large", "SumsArgs", StrCat("sums<", large, ">(a, at)"), true},
       {"add_parts", "PartsArgs", "add_parts(a, at)"},
       {"add_rows", "AddRowsArgs", "add_rows(a, at)"},
       {"round_rows", "RoundRowsArgs", "round_rows(a, at)"},
       {"sum_columns", "ColumnsArgs", "sum_columns(a, at)"},
       {"sum_edges", "EdgesArgs", "reduce_edges<false>(a, at)"},
       {"max_edges", "EdgesArgs", "reduce_edges<true>(a, at)"},
       {"to_mask", "MaskArgs", "to_mask(a, at)"},
       {"add", "FlatArgs", "add(a, at)"},
       {"round_all", "FlatArgs", "round_all(a, at)"},
       {"draw_mask", "DrawArgs", "draw_mask(a, at)"}}};
  for (const DType from : FloatTypes::kDTypes) {
    const std::string name = CudaTypeName(from);
    text.kernels.push_back({"cast_" + name, "CastArgs<" + name + ">",
                            "cast_rows<" + name + ">(a, at)"});
  }
  return std::make_shared<CudaText>(std::move(text));
}

std::shared_ptr<const CudaText> TextOfProductsThenGroup(const CudaText& group,
                                                        DType dtype,
                                                        bool summed) {
  CudaText text;
  text.body = StrCat("typedef ", CudaTypeName(dtype), " T;\n",
                     MostProducts(kCudaMostProductsOfGroup), kFewKernels,
                     "namespace behind {\n", group.body,
                     "}\nstruct ThenArgs {\n  ProductsOfSumArgs products;\n"
                     "  behind::GroupArgs group;\n};\n");
  text.kernels = {{"products_then_group", "ThenArgs",
                   StrCat("products_few<true, ", summed ? "true" : "false",
                          ">(a.products.products, &a.products.sum, at);\n"
                          "  barrier();\n  behind::group(a.group, at)")}};
  return std::make_shared<CudaText>(std::move(text));
}

}  // namespace cavs
