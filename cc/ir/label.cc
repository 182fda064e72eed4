#include "cc/ir/label.h"

#include <utility>
#include <vector>

#include "cc/base/status.h"

namespace cavs {
namespace {

// The name scope of an operator: "gates/i" for "gates/i/MatMul".
std::string Owner(const Node& node, const std::string& name) {
  const std::string end = "/" + node.op;
  if (name.size() <= end.size()) return name;
  const size_t at = name.size() - end.size();
  return name.compare(at, end.size(), end) == 0 ? name.substr(0, at) : name;
}

std::string ProductLabel(const Node& node) {
  if (node.merged.empty()) return node.op;
  std::string text = StrCat(node.op, " x", node.merged.size() + 1, " (",
                            Owner(node, node.name));
  for (const std::string& name : node.merged) {
    text += StrCat(", ", Owner(node, name));
  }
  return text + ")";
}

// Names every operator once, in the order in which they first occur.
std::string GroupLabel(const Node& node) {
  if (node.members.size() == 1) return node.members[0].op;
  std::vector<std::pair<std::string, int>> counts;
  for (const Node& member : node.members) {
    size_t i = 0;
    while (i < counts.size() && counts[i].first != member.op) ++i;
    if (i == counts.size()) counts.emplace_back(member.op, 0);
    ++counts[i].second;
  }
  std::string text = StrCat("group of ", node.members.size());
  const char* separator = ": ";
  for (const auto& [op, count] : counts) {
    text += StrCat(separator, op);
    if (count > 1) text += StrCat(" x", count);
    separator = ", ";
  }
  return text;
}

}  // namespace

std::string Label(const Node& node) {
  if (node.kind == NodeKind::kMatMul) return ProductLabel(node);
  if (node.kind == NodeKind::kGroup) return GroupLabel(node);
  if (node.kind == NodeKind::kWeightGrad) return "weight gradient";
  if (node.index >= 0)
    return StrCat(RowOf(node.kind).name, "(", node.index, ")");
  return node.op;
}

}  // namespace cavs
