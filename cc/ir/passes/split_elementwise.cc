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

  // Readers first: their pieces are what their operands may be split into.
  void Run() {
    std::vector<std::vector<Node>> in_reverse;
    for (int i = static_cast<int>(program_.nodes.size()); i-- > 0;) {
      const std::vector<int> pieces = PiecesToSplit(i);
      in_reverse.emplace_back();
      if (pieces.empty()) {
        in_reverse.back().push_back(program_.nodes[i]);
      } else {
        in_reverse.back() = Split(program_.nodes[i], pieces);
        // Later answers depend on who reads what.
        uses_.Forget(i);
        program_.nodes[i].inputs.clear();
        for (const Node& piece : in_reverse.back()) {
          program_.nodes[i].inputs.insert(program_.nodes[i].inputs.end(),
                                          piece.inputs.begin(),
                                          piece.inputs.end());
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

  // The pieces that the outcome of node `i` is read through; none if it is not
  // to be split.
  std::vector<int> PiecesToSplit(int i) const {
    const Node& node = program_.nodes[i];
    if (node.kind != NodeKind::kElementwise) return {};
    const int out = node.outputs[0];
    if (symbol(out).parent >= 0) return {};
    std::vector<int> pieces;
    for (int id : uses_.overlaps().of(out)) {
      if (!IsTouchedByOthers(id, i)) continue;
      if (id == out || symbol(id).parent != out) return {};
      pieces.push_back(id);
    }
    if (pieces.empty()) return {};
    const int64_t width = symbol(pieces[0]).columns();
    if (width == symbol(out).columns()) return {};
    std::sort(pieces.begin(), pieces.end(), [&](int a, int b) {
      return symbol(a).offset < symbol(b).offset;
    });
    for (size_t j = 0; j < pieces.size(); ++j) {
      const Symbol& s = symbol(pieces[j]);
      if (s.columns() != width || s.offset % width != 0 ||
          (j > 0 && s.offset == symbol(pieces[j - 1]).offset)) {
        return {};
      }
    }
    for (int id : node.inputs) {
      if (!CanSplit(id, symbol(out).columns(), out)) return {};
    }
    return pieces;
  }

  bool IsTouchedByOthers(int id, int node) const {
    const std::vector<int>& writers = uses_.writers(id);
    return uses_.IsResult(id) || !uses_.readers(id).empty() ||
           std::any_of(writers.begin(), writers.end(),
                       [node](int writer) { return writer != node; });
  }

  // One element for all columns, or as many as there are.
  bool CanSplit(int id, int64_t columns, int out) const {
    const std::vector<int>& own = uses_.overlaps().of(out);
    if (std::count(own.begin(), own.end(), id) > 0) return false;  // In place.
    return symbol(id).columns() == 1 || symbol(id).columns() == columns;
  }

  std::vector<Node> Split(const Node& node, const std::vector<int>& pieces) {
    std::vector<Node> split;
    for (int piece : pieces) {
      Node part = node;
      part.outputs = {piece};
      for (int& id : part.inputs) {
        if (symbol(id).columns() > 1) {
          id = View(id, symbol(piece).offset, symbol(piece).columns());
        }
      }
      split.push_back(std::move(part));
    }
    return split;
  }

  // Columns [offset, offset + columns) of `parent`; the same symbol every time.
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
