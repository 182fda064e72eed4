#include "cc/core/overlaps.h"

#include <algorithm>
#include <cstdint>

namespace cavs {

Overlaps::Overlaps(const Program& program) {
  const int n = static_cast<int>(program.symbols.size());
  std::vector<int64_t> offset(n);
  std::vector<std::vector<int>> members(n);
  for (int id = 0; id < n; ++id) {
    members[program.Root(id, &offset[id])].push_back(id);
  }
  of_.resize(n);
  for (const std::vector<int>& same_root : members) {
    for (int a : same_root) {
      for (int b : same_root) {
        const int64_t first = std::max(offset[a], offset[b]);
        const int64_t end = std::min(offset[a] + program.symbols[a].columns(),
                                     offset[b] + program.symbols[b].columns());
        const bool overlap = first < end;
        if (a == b || overlap) of_[a].push_back(b);
      }
    }
  }
}

bool Overlaps::AnyMarked(const std::vector<bool>& mark,
                         const std::vector<int>& symbols) const {
  for (int id : symbols) {
    for (int other : of_[id]) {
      if (mark[other]) return true;
    }
  }
  return false;
}

}  // namespace cavs
