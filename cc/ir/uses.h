// Which nodes read and write which symbols.
#ifndef CAVS_CC_IR_USES_H_
#define CAVS_CC_IR_USES_H_

#include <vector>

#include "cc/ir/overlaps.h"
#include "cc/ir/program.h"

namespace cavs {

// An index of a program that follows what a pass changes, so that no question
// takes a walk over all nodes.
//
// Example:
//   Uses uses(*program);
//   if (uses.ReadersOfAny(y) == std::vector<int>{i}) {  // Only node i reads y.
//     uses.Forget(i);
//     program->nodes[i].inputs = {x};
//     uses.Add(i);
//   }
class Uses {
 public:
  // The program must outlive it.
  explicit Uses(const Program& program);

  const Overlaps& overlaps() const { return overlaps_; }
  bool IsResult(int symbol) const { return is_result_[symbol]; }

  // The nodes that name `symbol` among their inputs (outputs), in order; as
  // often as they name it.
  const std::vector<int>& readers(int symbol) const { return readers_[symbol]; }
  const std::vector<int>& writers(int symbol) const { return writers_[symbol]; }

  // The nodes that read (write) any symbol that overlaps `symbol`, in order;
  // each once.
  std::vector<int> ReadersOfAny(int symbol) const;
  std::vector<int> WritersOfAny(int symbol) const;

  // To be called before and after node number `node` is changed. A node that is
  // removed is only forgotten.
  void Forget(int node);
  void Add(int node);
  // See Overlaps.
  void Update(int symbol);

 private:
  const Program& program_;
  Overlaps overlaps_;
  std::vector<bool> is_result_;
  std::vector<std::vector<int>> readers_, writers_;  // By symbol.
};

}  // namespace cavs

#endif  // CAVS_CC_IR_USES_H_
