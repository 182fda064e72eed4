#include "cc/ir/passes/split_elementwise.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cc/ir/uses.h"

namespace cavs {
namespace {

class Splitter {
 public:
  explicit Splitter(Program* program) : program_(*program), uses_(*program) {}

  // Visits readers first: an operator may be split only once its readers read
  // views.
  void Run() {
    std::vector<std::vector<Node>> in_reverse;
    for (int i = static_cast<int>(program_.nodes.size()); i-- > 0;) {
      const std::vector<int> views = ViewsToSplit(i);
      in_reverse.emplace_back();
      if (views.empty()) {
        in_reverse.back().push_back(program_.nodes[i]);
      } else {
        in_reverse.back() = Split(program_.nodes[i], views);
        // Tells the index which symbols the split operators read.
        uses_.Forget(i);
        program_.nodes[i].inputs.clear();
        for (const Node& narrow : in_reverse.back()) {
          program_.nodes[i].inputs.insert(program_.nodes[i].inputs.end(),
                                          narrow.inputs.begin(),
                                          narrow.inputs.end());
        }
        uses_.Add(i);
      }
    }
    program_.nodes.clear();
    for (size_t i = in_reverse.size(); i-- > 0;) {
      for (Node& node : in_reverse[i])
        program_.nodes.push_back(std::move(node));
    }
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  // The views through which the output of node `i` is read; none if the node is
  // not to be split.
  std::vector<int> ViewsToSplit(int i) const {
    const Node& node = program_.nodes[i];
    if (node.kind != NodeKind::kElementwise) return {};
    const int out = node.outputs[0];
    if (symbol(out).parent >= 0) return {};
    std::vector<int> views;
    for (int id : uses_.overlaps().of(out)) {
      if (!IsUsedByOthers(id, i)) continue;
      if (id == out || symbol(id).parent != out) return {};
      views.push_back(id);
    }
    if (views.empty()) return {};
    const int64_t width = symbol(views[0]).columns();
    if (width == symbol(out).columns()) return {};
    std::sort(views.begin(), views.end(), [&](int a, int b) {
      return symbol(a).offset < symbol(b).offset;
    });
    for (size_t j = 0; j < views.size(); ++j) {
      const Symbol& s = symbol(views[j]);
      if (s.columns() != width || s.offset % width != 0 ||
          (j > 0 && s.offset == symbol(views[j - 1]).offset)) {
        return {};
      }
    }
    for (int id : node.inputs) {
      if (!CanSplit(id, symbol(out).columns(), out)) return {};
    }
    return views;
  }

  bool IsUsedByOthers(int id, int node) const {
    const std::vector<int>& writers = uses_.writers(id);
    return uses_.IsResult(id) || !uses_.readers(id).empty() ||
           std::any_of(writers.begin(), writers.end(),
                       [node](int writer) { return writer != node; });
  }

  // Whether the operand has one element for all columns, or as many as the
  // output.
  bool CanSplit(int id, int64_t columns, int out) const {
    const std::vector<int>& own = uses_.overlaps().of(out);
    if (std::count(own.begin(), own.end(), id) > 0)
      return false;  // The operator works in place.
    return symbol(id).columns() == 1 || symbol(id).columns() == columns;
  }

  std::vector<Node> Split(const Node& node, const std::vector<int>& views) {
    std::vector<Node> split;
    for (int view : views) {
      Node narrow = node;
      narrow.outputs = {view};
      for (int& id : narrow.inputs) {
        if (symbol(id).columns() > 1) {
          id = View(id, symbol(view).offset, symbol(view).columns());
        }
      }
      split.push_back(std::move(narrow));
    }
    return split;
  }

  // Columns [offset, offset + columns) of `parent`. Always returns the same
  // symbol for the same columns.
  int View(int parent, int64_t offset, int64_t columns) {
    const auto key = std::make_tuple(parent, offset, columns);
    const auto found = views_.find(key);
    if (found != views_.end()) return found->second;
    for (int id : uses_.overlaps().of(parent)) {
      const Symbol& s = symbol(id);
      if (s.parent == parent && s.offset == offset && s.columns() == columns) {
        return views_[key] = id;
      }
    }
    Symbol view = symbol(parent);
    view.shape = {columns};
    view.source = SymbolSource::kNode;
    view.index = -1;
    view.constant = nullptr;
    view.parent = parent;
    view.offset = offset;
    program_.symbols.push_back(std::move(view));
    const int id = static_cast<int>(program_.symbols.size()) - 1;
    uses_.Update(id);
    return views_[key] = id;
  }

  Program& program_;
  Uses uses_;
  std::map<std::tuple<int, int64_t, int64_t>, int> views_;
};

}  // namespace

void SplitElementwise(Program* program) { Splitter(program).Run(); }

}  // namespace cavs
