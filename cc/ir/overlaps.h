// Which symbols share memory.
#ifndef CAVS_CC_IR_OVERLAPS_H_
#define CAVS_CC_IR_OVERLAPS_H_

#include <cstdint>
#include <vector>

#include "cc/ir/program.h"

namespace cavs {

// A tensor and its pieces hold one another's values: who asks what a node reads
// or writes asks for the overlapping symbols too.
class Overlaps {
 public:
  // The program must outlive it.
  explicit Overlaps(const Program& program);

  // The symbols with elements in common with `symbol`, and `symbol` itself.
  const std::vector<int>& of(int symbol) const { return of_[symbol]; }

  // Is `mark` set for any symbol that overlaps one of `symbols`?
  bool AnyMarked(const std::vector<bool>& mark,
                 const std::vector<int>& symbols) const;

  // To be called when the program has a new symbol, its last, and when a root
  // has become a piece of another.
  void Update(int symbol);

 private:
  int64_t End(int symbol) const {
    return offset_[symbol] + program_.symbols[symbol].columns();
  }
  void Join(int a, int b);

  const Program& program_;
  std::vector<int64_t> offset_;            // In the root.
  std::vector<std::vector<int>> members_;  // By root: it and all its pieces.
  std::vector<std::vector<int>> of_;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_OVERLAPS_H_
