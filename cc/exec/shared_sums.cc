#include "cc/exec/shared_sums.h"

#include <algorithm>
#include <cstdint>

#include "cc/ir/uses.h"

namespace cavs {
namespace {

class Sharer {
 public:
  Sharer(const CompiledProgram& general, const std::vector<ResultPart>& parts,
         CompiledProgram* variant)
      : general_(general),
        parts_(parts),
        variant_(*variant),
        of_general_(general),
        of_variant_(*variant),
        shared_(variant->symbols.size(), -1) {}

  std::vector<int> Run() {
    for (Candidate& own : variant_.placement.candidates) own.result = -1;
    for (size_t i = 0; i < parts_.size(); ++i) {
      int64_t offset;
      const int sum = variant_.Root(variant_.results[i], &offset);
      const int whole = general_.results[parts_[i].result];
      if (shared_[sum] < 0 && MayShare(sum, whole)) Share(sum, whole);
    }
    return std::move(shared_);
  }

 private:
  bool MayShare(int sum, int whole) const {
    const Symbol &own = variant_.symbols[sum], &other = general_.symbols[whole];
    if (other.parent >= 0 || general_.placement.candidates[whole].result < 0 ||
        own.kind != other.kind || own.columns() != other.columns() ||
        own.dtype != other.dtype || !AreParts(sum, whole) ||
        !IsOnlyAddedTo(variant_, of_variant_, sum) ||
        !IsOnlyAddedTo(general_, of_general_, whole)) {
      return false;
    }
    const std::vector<int>& views = of_variant_.overlaps().of(sum);
    return std::all_of(views.begin(), views.end(), [&](int id) {
      return of_variant_.writers(id).empty() || Same(id, whole) >= 0;
    });
  }

  // Whether the results that lie in `sum` are the same parts of `whole`.
  bool AreParts(int sum, int whole) const {
    for (size_t i = 0; i < parts_.size(); ++i) {
      int64_t offset;
      if (variant_.Root(variant_.results[i], &offset) == sum &&
          (general_.results[parts_[i].result] != whole ||
           parts_[i].offset != offset)) {
        return false;
      }
    }
    return true;
  }

  // Whether nodes that add in place write it, and none reads it.
  static bool IsOnlyAddedTo(const Program& program, const Uses& uses, int sum) {
    const std::vector<int> writers = uses.WritersOfAny(sum);
    return uses.ReadersOfAny(sum).empty() &&
           std::all_of(writers.begin(), writers.end(),
                       [&](int i) { return SumsRows(program.nodes[i].kind); });
  }

  void Share(int sum, int whole) {
    shared_[sum] = whole;
    variant_.placement.candidates[sum].result =
        general_.placement.candidates[whole].result;
    for (const int id : of_variant_.overlaps().of(sum)) {
      if (!of_variant_.writers(id).empty()) shared_[id] = Same(id, whole);
    }
  }

  // The symbol of `general` that is these elements of its sum `whole`, and that
  // is written in the same stream; -1 if there is none.
  int Same(int id, int whole) const {
    int64_t offset, other_offset;
    variant_.Root(id, &offset);
    for (const int other : of_general_.overlaps().of(whole)) {
      general_.Root(other, &other_offset);
      if (other_offset == offset &&
          general_.symbols[other].columns() == variant_.symbols[id].columns() &&
          !of_general_.writers(other).empty() &&
          IsCritical(general_, of_general_.writers(other)) ==
              IsCritical(variant_, of_variant_.writers(id))) {
        return other;
      }
    }
    return -1;
  }

  static bool IsCritical(const Program& program,
                         const std::vector<int>& writers) {
    return std::any_of(writers.begin(), writers.end(), [&](int i) {
      return program.nodes[i].stage == Stage::kCritical;
    });
  }

  const CompiledProgram& general_;
  const std::vector<ResultPart>& parts_;
  CompiledProgram& variant_;
  const Uses of_general_, of_variant_;
  std::vector<int> shared_;
};

}  // namespace

std::vector<int> ShareSums(const CompiledProgram& general,
                           const std::vector<ResultPart>& parts,
                           CompiledProgram* variant) {
  return Sharer(general, parts, variant).Run();
}

}  // namespace cavs
