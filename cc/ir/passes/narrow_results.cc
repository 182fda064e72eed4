#include "cc/ir/passes/narrow_results.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/ir/passes/replacements.h"
#include "cc/ir/passes/views.h"
#include "cc/ir/uses.h"

namespace cavs {
namespace {

using Range = std::pair<int64_t, int64_t>;  // Columns: begin and end.

class Narrower {
 public:
  explicit Narrower(Program* program)
      : program_(*program),
        uses_(*program),
        views_(program, &uses_),
        replaced_(program) {}

  // Visits readers before writers, so that columns that are no longer read are
  // known.
  void Run() {
    for (int i = static_cast<int>(program_.nodes.size()); i-- > 0;) Narrow(i);
    replaced_.Apply();
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }
  const Node& node(int i) const { return program_.nodes[i]; }

  void Narrow(int i) {
    if (!MayNarrow(i)) return;
    const int out = node(i).outputs[0];
    const std::vector<Range> ranges = ReadRanges(out);
    int64_t columns = 0;
    for (const Range& range : ranges) columns += range.second - range.first;
    if (columns == 0 || columns == symbol(out).columns()) return;
    std::vector<int> inputs;
    for (const Range& range : ranges) {
      Node narrow = Part(node(i), range);
      inputs.insert(inputs.end(), narrow.inputs.begin(), narrow.inputs.end());
      replaced_.Add(i, std::move(narrow));
    }
    // Tells the index which symbol is read instead.
    uses_.Forget(i);
    program_.nodes[i].inputs = std::move(inputs);
    uses_.Add(i);
  }

  bool MayNarrow(int i) const {
    const Node& n = node(i);
    const bool is_product = n.kind == NodeKind::kMatMul && n.inputs.size() == 2;
    if (n.accumulate || (!is_product && n.kind != NodeKind::kElementwise)) {
      return false;
    }
    const int out = n.outputs[0];
    const std::vector<int>& own = uses_.overlaps().of(out);
    return symbol(out).parent < 0 &&
           uses_.WritersOfAny(out) == std::vector<int>{i} &&
           std::all_of(
               n.inputs.begin(), n.inputs.end(),
               [&](int id) {
                 return std::count(own.begin(), own.end(), id) == 0 &&
                        (is_product || symbol(id).columns() == 1 ||
                         symbol(id).columns() == symbol(out).columns());
               });
  }

  // The ranges of columns of a root that are read or returned. Adjacent ones
  // are one.
  std::vector<Range> ReadRanges(int root) const {
    std::vector<Range> read;
    for (int id : uses_.overlaps().of(root)) {
      if (uses_.readers(id).empty() && !uses_.IsResult(id)) continue;
      int64_t begin;
      program_.Root(id, &begin);
      read.emplace_back(begin, begin + symbol(id).columns());
    }
    std::sort(read.begin(), read.end());
    std::vector<Range> joined;
    for (const Range& range : read) {
      if (joined.empty() || range.first > joined.back().second) {
        joined.push_back(range);
      } else {
        joined.back().second = std::max(joined.back().second, range.second);
      }
    }
    return joined;
  }

  // The symbol of these columns of a root: that which is read, if one is.
  int ColumnsOf(int root, const Range& range) {
    for (int id : uses_.overlaps().of(root)) {
      int64_t begin;
      program_.Root(id, &begin);
      if (begin == range.first &&
          begin + symbol(id).columns() == range.second &&
          !uses_.readers(id).empty()) {
        return id;
      }
    }
    return views_.Columns(root, range.first, range.second);
  }

  // The operator for these columns of the result.
  Node Part(const Node& whole, const Range& range) {
    const auto [begin, end] = range;
    Node part = whole;
    part.outputs = {ColumnsOf(whole.outputs[0], range)};
    if (whole.kind == NodeKind::kMatMul) {
      part.inputs[1] = views_.WeightsOf(whole, begin, end);
      return part;
    }
    for (int& id : part.inputs) {
      if (symbol(id).columns() > 1) id = views_.Columns(id, begin, end);
    }
    return part;
  }

  Program& program_;
  Uses uses_;
  Views views_;
  Replacements replaced_;
};

}  // namespace

void NarrowResults(Program* program) { Narrower(program).Run(); }

}  // namespace cavs
