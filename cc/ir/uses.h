// Which nodes read and write which symbols.
#ifndef CAVS_CC_IR_USES_H_
#define CAVS_CC_IR_USES_H_

#include <vector>

#include "cc/ir/overlaps.h"
#include "cc/ir/program.h"

namespace cavs {

// An index of a program that is updated as a pass changes the program, so that
// no query has to search all nodes.
class Uses {
 public:
  // The program must outlive the object.
  explicit Uses(const Program& program);

  const Overlaps& overlaps() const { return overlaps_; }
  bool IsResult(int symbol) const { return is_result_[symbol]; }

  // The nodes that have `symbol` among their inputs (outputs), in order; a node
  // appears once for each time that it does.
  const std::vector<int>& readers(int symbol) const { return readers_[symbol]; }
  const std::vector<int>& writers(int symbol) const { return writers_[symbol]; }

  // The nodes that read (write) any symbol that overlaps `symbol`, in order,
  // each once.
  std::vector<int> ReadersOfAny(int symbol) const;
  std::vector<int> WritersOfAny(int symbol) const;

  // To be called before and after node number `node` is changed. For a node
  // that is removed, only Forget() is called.
  void Forget(int node);
  void Add(int node);
  // See Overlaps::Update().
  void Update(int symbol);

 private:
  const Program& program_;
  Overlaps overlaps_;
  std::vector<bool> is_result_;
  std::vector<std::vector<int>> readers_, writers_;  // Indexed by symbol.
};

}  // namespace cavs

#endif  // CAVS_CC_IR_USES_H_
