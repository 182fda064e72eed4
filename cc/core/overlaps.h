// Which symbols share memory.
#ifndef CAVS_CC_CORE_OVERLAPS_H_
#define CAVS_CC_CORE_OVERLAPS_H_

#include <vector>

#include "cc/core/program.h"

namespace cavs {

// A tensor and its pieces hold one another's values: who asks what a node reads
// or writes asks for the overlapping symbols too.
class Overlaps {
 public:
  explicit Overlaps(const Program& program);

  // The symbols with elements in common with `symbol`, itself included.
  const std::vector<int>& of(int symbol) const { return of_[symbol]; }

  // Is `mark` set for any symbol that overlaps one of `symbols`?
  bool AnyMarked(const std::vector<bool>& mark,
                 const std::vector<int>& symbols) const;

 private:
  std::vector<std::vector<int>> of_;
};

}  // namespace cavs

#endif  // CAVS_CC_CORE_OVERLAPS_H_
