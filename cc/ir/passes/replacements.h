// Replaces nodes of a program by other nodes.
#ifndef CAVS_CC_IR_PASSES_REPLACEMENTS_H_
#define CAVS_CC_IR_PASSES_REPLACEMENTS_H_

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "cc/ir/program.h"

namespace cavs {

// Collects the nodes that replace each node of a program, so that nodes keep
// their numbers until all replacements are known.
class Replacements {
 public:
  // The program must outlive the object.
  explicit Replacements(Program* program)
      : program_(*program), replaced_(program->nodes.size()) {}

  bool Has(int node) const { return !replaced_[node].empty(); }
  // Adds a node to those that replace `node`, after the others.
  void Add(int node, Node by) { replaced_[node].push_back(std::move(by)); }

  void Apply() {
    std::vector<Node> nodes;
    for (size_t i = 0; i < replaced_.size(); ++i) {
      if (replaced_[i].empty()) {
        nodes.push_back(std::move(program_.nodes[i]));
      } else {
        std::move(replaced_[i].begin(), replaced_[i].end(),
                  std::back_inserter(nodes));
      }
    }
    program_.nodes = std::move(nodes);
  }

 private:
  Program& program_;
  std::vector<std::vector<Node>> replaced_;  // Indexed by node.
};

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_REPLACEMENTS_H_
