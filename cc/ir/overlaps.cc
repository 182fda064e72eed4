#include "cc/ir/overlaps.h"

#include <algorithm>

namespace cavs {

Overlaps::Overlaps(const Program& program) : program_(program) {
  const int n = static_cast<int>(program.symbols.size());
  offset_.resize(n);
  members_.resize(n);
  of_.resize(n);
  for (int id = 0; id < n; ++id) {
    members_[program.Root(id, &offset_[id])].push_back(id);
    of_[id] = {id};
  }
  for (std::vector<int> ids : members_) {
    std::sort(ids.begin(), ids.end(),
              [&](int a, int b) { return offset_[a] < offset_[b]; });
    for (size_t i = 0; i < ids.size(); ++i) {
      for (size_t j = i + 1; j < ids.size(); ++j) {
        if (offset_[ids[j]] >= End(ids[i])) break;
        Join(ids[i], ids[j]);
      }
    }
  }
  for (std::vector<int>& ids : of_) std::sort(ids.begin(), ids.end());
}

// Records that symbols `a` and `b` of one root overlap, if they do: a symbol
// without elements overlaps none.
void Overlaps::Join(int a, int b) {
  if (std::max(offset_[a], offset_[b]) >= std::min(End(a), End(b))) return;
  of_[a].push_back(b);
  of_[b].push_back(a);
}

void Overlaps::Update(int symbol) {
  std::vector<int> moved = {symbol};
  if (symbol == static_cast<int>(of_.size())) {
    offset_.emplace_back();
    members_.emplace_back();
    of_.emplace_back();
  } else {
    moved = std::move(members_[symbol]);
    members_[symbol].clear();
  }
  for (int id : moved) {
    std::vector<int>& group = members_[program_.Root(id, &offset_[id])];
    of_[id] = {id};
    for (int other : group) Join(id, other);
    group.push_back(id);
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
