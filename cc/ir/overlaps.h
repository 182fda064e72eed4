// Which symbols share memory.
#ifndef CAVS_CC_IR_OVERLAPS_H_
#define CAVS_CC_IR_OVERLAPS_H_

#include <cstdint>
#include <vector>

#include "cc/ir/program.h"

namespace cavs {

// A tensor and its views share values. Whoever asks which node reads or writes
// a symbol must therefore ask about the overlapping symbols as well.
class Overlaps {
 public:
  // The program must outlive the object.
  explicit Overlaps(const Program& program);

  // The symbols with elements in common with `symbol`, and `symbol` itself.
  const std::vector<int>& of(int symbol) const { return of_[symbol]; }

  // Whether `mark` is set for any symbol that overlaps one of `symbols`.
  bool AnyMarked(const std::vector<bool>& mark,
                 const std::vector<int>& symbols) const;

  // To be called when the program has got a new symbol, its last, and when a
  // root has become a view of another symbol.
  void Update(int symbol);

 private:
  int64_t End(int symbol) const {
    return offset_[symbol] + program_.symbols[symbol].extent();
  }
  void Join(int a, int b);

  const Program& program_;
  std::vector<int64_t> offset_;  // Within the root's rows, in elements.
  // By root: the root and all its views.
  std::vector<std::vector<int>> members_;
  std::vector<std::vector<int>> of_;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_OVERLAPS_H_
