#include "cc/ir/passes/split_products.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cc/ir/passes/replacements.h"
#include "cc/ir/passes/views.h"
#include "cc/ir/uses.h"

namespace cavs {
namespace {

// A range of columns of a symbol with rows.
struct Range {
  int64_t begin = 0, end = 0;
  // The symbol that holds exactly these columns.
  int symbol = -1;
  // Operands: the stage that writes them. Results: the first that reads them.
  Stage stage = Stage::kEager;
  bool is_copied = false;  // Whether they are a copy of `symbol`.
  bool is_zero = false;    // Whether nothing but zeros is written there.
};

bool BeginsEarlier(const Range& a, const Range& b) { return a.begin < b.begin; }

// Rewrites one kind of product at a time.
class Splitter {
 public:
  explicit Splitter(Program* program)
      : program_(*program),
        uses_(*program),
        views_(program, &uses_),
        replaced_(program) {}

  // Leaves out columns of operands that are zero, if `is_finite` holds for the
  // weights that they are multiplied by.
  void LeaveOutZeros(const std::function<bool(int)>& is_finite) {
    for (int i = 0; i < num_nodes(); ++i) {
      if (!IsSimpleProduct(node(i))) continue;
      std::vector<Range> ranges = WrittenRanges(node(i).inputs[0]);
      const auto is_zero = [](const Range& range) { return range.is_zero; };
      const auto zeros = std::remove_if(ranges.begin(), ranges.end(), is_zero);
      if (zeros == ranges.end() || zeros == ranges.begin() ||
          !is_finite(node(i).inputs[1])) {
        continue;
      }
      ranges.erase(zeros, ranges.end());
      Multiply(i, Join(ranges, node(i).inputs[0],
                       [](const Range&, const Range&) { return true; }));
    }
    replaced_.Apply();
  }

  void SplitOperands() {
    for (int i = 0; i < num_nodes(); ++i) SplitOperand(i);
    replaced_.Apply();
  }

  void SplitResults() {
    for (int i = 0; i < num_nodes(); ++i) SplitResult(i);
    replaced_.Apply();
  }

  void SplitSums() {
    for (int sum : Sums()) SplitSum(sum);
    replaced_.Apply();
  }

 private:
  int num_nodes() const { return static_cast<int>(program_.nodes.size()); }
  const Symbol& symbol(int id) const { return program_.symbols[id]; }
  const Node& node(int i) const { return program_.nodes[i]; }

  int AddSymbol(Symbol symbol) {
    program_.symbols.push_back(std::move(symbol));
    const int id = static_cast<int>(program_.symbols.size()) - 1;
    uses_.Update(id);
    return id;
  }

  // Adds a symbol like `like`, but with `columns` columns.
  int AddRows(int like, int64_t columns) {
    Symbol rows = symbol(like);
    rows.source = SymbolSource::kNode;
    rows.shape = {columns};
    rows.parent = -1;
    rows.offset = 0;
    return AddSymbol(rows);
  }

  // The stage after which all of a symbol is known.
  Stage StageOf(int id) const {
    Stage stage = Stage::kEager;
    for (int writer : uses_.WritersOfAny(id)) {
      stage = std::max(stage, node(writer).stage);
    }
    return stage;
  }

  // The ranges of columns in which `id` is written, in order. Empty if they
  // overlap or leave gaps.
  std::vector<Range> WrittenRanges(int id) const {
    int64_t begin, at;
    const int root = program_.Root(id, &begin);
    std::map<int, Range> ranges;  // Indexed by symbol.
    for (int writer : uses_.WritersOfAny(id)) {
      for (int out : node(writer).outputs) {
        if (program_.Root(out, &at) != root) continue;
        Range range{at - begin, at - begin + symbol(out).columns(), out,
                    StageOf(out)};
        range.is_zero = node(writer).kind == NodeKind::kZero;
        if (node(writer).kind == NodeKind::kCopy) {
          range.symbol = node(writer).inputs[0];
          range.stage = StageOf(range.symbol);
          range.is_copied = true;
        }
        const auto [known, is_new] = ranges.emplace(out, range);
        if (is_new) continue;
        // A node adds to the columns.
        if (known->second.is_copied) return {};
        known->second.is_zero = false;
      }
    }
    std::vector<Range> sorted;
    for (const auto& [out, range] : ranges) sorted.push_back(range);
    std::stable_sort(sorted.begin(), sorted.end(), BeginsEarlier);
    int64_t end = 0;
    for (const Range& range : sorted) {
      if (range.begin != end || range.end == range.begin) return {};
      end = range.end;
    }
    return end == symbol(id).columns() ? sorted : std::vector<Range>();
  }

  // Joins adjacent ranges of `whole` that are alike.
  template <typename AreAlike>
  std::vector<Range> Join(const std::vector<Range>& ranges, int whole,
                          const AreAlike& are_alike) {
    std::vector<Range> joined;
    for (const Range& range : ranges) {
      if (joined.empty() || joined.back().end != range.begin ||
          !are_alike(joined.back(), range)) {
        joined.push_back(range);
        continue;
      }
      Range& last = joined.back();
      last.end = range.end;
      last.symbol = views_.Columns(whole, last.begin, last.end);
      last.is_copied = false;
    }
    return joined;
  }

  static bool IsSimpleProduct(const Node& product) {
    return product.kind == NodeKind::kMatMul && product.inputs.size() == 2 &&
           !product.accumulate;
  }

  // Columns that are known earlier than the product's stage are multiplied by
  // products of their own.
  void SplitOperand(int i) {
    const Node& product = node(i);
    // Only in tasks does a product with a transposed weight gain by it.
    if (!IsSimpleProduct(product) ||
        (product.transpose && product.stage != Stage::kCritical)) {
      return;
    }
    const int operand = product.inputs[0];
    const std::vector<Range> groups =
        Join(WrittenRanges(operand), operand,
             [](const Range& a, const Range& b) { return a.stage == b.stage; });
    if (groups.size() > 1) Multiply(i, groups);
  }

  // Replaces a product by the sum of the products of groups of its columns.
  void Multiply(int i, const std::vector<Range>& groups) {
    const Node& product = node(i);
    const int out = product.outputs[0];
    int sum = -1;
    for (const Range& group : groups) {
      const bool is_last = group.end == groups.back().end;
      Node split = product;
      split.stage = group.stage;
      split.inputs = {group.symbol,
                      views_.FactorOf(product, group.begin, group.end)};
      if (groups.size() > 1) {
        split.outputs = {AddRows(out, symbol(out).columns())};
      }
      const int term = split.outputs[0];
      replaced_.Add(i, std::move(split));
      if (sum < 0) {
        sum = term;
        continue;
      }
      Node add;
      add.kind = NodeKind::kElementwise;
      add.elementwise = Elementwise::kAdd;
      add.name = product.name;
      add.op = product.op;
      add.stage = product.stage;
      add.inputs = {sum, term};
      sum = is_last ? out : AddRows(out, symbol(out).columns());
      add.outputs = {sum};
      replaced_.Add(i, std::move(add));
    }
  }

  // The ranges of a root that nodes read, if they do not overlap.
  std::vector<Range> ReadRanges(int root) const {
    std::map<std::pair<int64_t, int64_t>, Range> ranges;
    for (int id : uses_.overlaps().of(root)) {
      if (uses_.readers(id).empty()) continue;
      int64_t begin;
      program_.Root(id, &begin);
      Range range{begin, begin + symbol(id).columns(), id, Stage::kEpilogue,
                  false};
      Range& known =
          ranges.emplace(std::make_pair(range.begin, range.end), range)
              .first->second;
      for (int reader : uses_.readers(id)) {
        known.stage = std::min(known.stage, node(reader).stage);
      }
    }
    std::vector<Range> sorted;
    for (const auto& [key, range] : ranges) sorted.push_back(range);
    for (size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i].begin < sorted[i - 1].end) return {};
    }
    return sorted;
  }

  // Columns that are read later than the product's stage get products of their
  // own.
  void SplitResult(int i) {
    const Node& product = node(i);
    if (product.outputs.empty()) return;
    const int out = product.outputs[0];
    // Others run over all rows as they are.
    const bool may_gain =
        product.transpose || product.stage == Stage::kCritical;
    if (!IsSimpleProduct(product) || !may_gain || symbol(out).parent >= 0 ||
        uses_.WritersOfAny(out) != std::vector<int>{i}) {
      return;
    }
    for (int id : uses_.overlaps().of(out)) {
      if (uses_.IsResult(id)) return;
    }
    const std::vector<Range> groups =
        Join(ReadRanges(out), out, [&](const Range& a, const Range& b) {
          return (a.stage <= product.stage) == (b.stage <= product.stage);
        });
    if (groups.empty() || (groups.size() == 1 && groups[0].begin == 0 &&
                           groups[0].end == symbol(out).columns())) {
      return;
    }
    for (const Range& group : groups) {
      Node split = product;
      split.inputs[1] = views_.WeightsOf(product, group.begin, group.end);
      split.outputs = {MoveOut(out, group)};
      replaced_.Add(i, std::move(split));
    }
  }

  // Gives columns of root `whole` memory of their own: makes the symbol that
  // holds just them a root, and those that hold some of them views of it.
  int MoveOut(int whole, const Range& group) {
    const int root = group.symbol;
    std::vector<std::pair<int, int64_t>> moved;  // With offsets in the group.
    for (int id : uses_.overlaps().of(whole)) {
      int64_t begin;
      if (id == whole || program_.Root(id, &begin) != whole) continue;
      if (begin >= group.begin && begin + symbol(id).columns() <= group.end) {
        moved.emplace_back(id, begin - group.begin);
      }
    }
    for (const auto& [id, offset] : moved) {
      program_.symbols[id].parent = id == root ? -1 : root;
      program_.symbols[id].offset = id == root ? 0 : offset;
    }
    return root;
  }

  // The sums over rows to which only weight gradients of one size add.
  std::vector<int> Sums() const {
    std::vector<int> sums;
    for (size_t id = 0; id < program_.symbols.size(); ++id) {
      const int out = static_cast<int>(id);
      const std::vector<int> writers = uses_.WritersOfAny(out);
      const bool is_sum =
          !writers.empty() &&
          std::all_of(writers.begin(), writers.end(), [&](int i) {
            return node(i).kind == NodeKind::kWeightGrad &&
                   node(i).outputs[0] == out;
          });
      if (is_sum) sums.push_back(out);
    }
    return sums;
  }

  // Columns of the first operand belong to rows of the sum.
  void SplitSum(int out) {
    const std::vector<int> writers = uses_.writers(out);
    std::vector<std::vector<Range>> groups;
    std::vector<int64_t> cuts;
    for (int i : writers) {
      const int operand = node(i).inputs[0];
      groups.push_back(Join(WrittenRanges(operand), operand,
                            [](const Range& a, const Range& b) {
                              return !a.is_copied && !b.is_copied;
                            }));
      if (groups.back().empty()) {
        groups.back() = {{0, symbol(operand).columns(), operand}};
      }
      for (const Range& range : groups.back()) cuts.push_back(range.begin);
      cuts.push_back(symbol(operand).columns());
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t w = 0; w < writers.size(); ++w) {
      SplitWeightGrad(writers[w], groups[w], cuts);
    }
  }

  void SplitWeightGrad(int i, const std::vector<Range>& groups,
                       const std::vector<int64_t>& cuts) {
    const int out = node(i).outputs[0];
    const int64_t width = symbol(node(i).inputs[1]).columns();
    auto group = groups.begin();
    for (size_t c = 0; c + 1 < cuts.size(); ++c) {
      if (cuts[c] >= group->end) ++group;
      Node split = node(i);
      split.inputs[0] = views_.Columns(group->symbol, cuts[c] - group->begin,
                                       cuts[c + 1] - group->begin);
      if (cuts.size() > 2) {
        const int64_t rows = cuts[c + 1] - cuts[c];
        split.outputs = {views_.Elements(out, cuts[c] * width, {rows, width})};
      }
      replaced_.Add(i, std::move(split));
    }
  }

  Program& program_;
  Uses uses_;
  Views views_;
  Replacements replaced_;
};

}  // namespace

void LeaveOutZeroColumns(const std::function<bool(int)>& is_finite,
                         Program* program) {
  Splitter(program).LeaveOutZeros(is_finite);
}

void SplitProducts(Program* program) {
  Splitter(program).SplitOperands();
  Splitter(program).SplitResults();
  Splitter(program).SplitSums();
}

}  // namespace cavs
