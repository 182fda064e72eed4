// The policy `ratio` makes few tasks if vertices are of several types.
//
// The frontier F(a) of type a consists of the unevaluated vertices of type a
// that depend on no other unevaluated vertex of type a, directly or through
// vertices of any type. The next task of type a is a subset of F(a), whatever
// the policy. The ready vertices R(a) are the subset that can run now, because
// all of their children are evaluated. Each round runs R(a) of the type with
// the largest ratio |R(a)| / |F(a)|.
//
// If the ratio is 1, no schedule of the remaining vertices has fewer tasks than
// one that begins with F(a). Proof: take a best schedule. Its first task of
// type a is a subset of F(a), so running all of F(a) first, and dropping those
// vertices from their later tasks, adds no task and leaves children before
// parents. If the ratio is less than 1, the rest of F(a) will need another
// task. The policy therefore chooses the type whose frontier has the smallest
// fraction of waiting vertices. If this gives more tasks than `depth`, the
// tasks of `depth` are taken.
//
// F must take dependencies through other types into account. If only children
// of type a counted, a vertex that depends on another vertex of type a through
// a vertex of type b would count as if it could run soon.
//
// Idea: Chen et al. 2023, "ED-Batch", arXiv:2302.03851.
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "cc/schedule/task_plan.h"

namespace cavs {
namespace {

// Numbers the types that occur in the batch 0, 1, ... in ascending order. These
// numbers are called kinds.
class Kinds {
 public:
  explicit Kinds(Span<int32_t> types) : kind_of_(types.size()) {
    constexpr int32_t kAbsent = -1, kPresent = 0;
    std::vector<int32_t> kind_of_type;
    for (const int32_t type : types) {
      if (type >= static_cast<int64_t>(kind_of_type.size())) {
        kind_of_type.resize(static_cast<int64_t>(type) + 1, kAbsent);
      }
      kind_of_type[type] = kPresent;
    }
    for (size_t type = 0; type < kind_of_type.size(); ++type) {
      if (kind_of_type[type] == kAbsent) continue;
      kind_of_type[type] = size();
      types_.push_back(static_cast<int32_t>(type));
    }
    for (int64_t v = 0; v < types.size(); ++v) {
      kind_of_[v] = kind_of_type[types[v]];
    }
  }

  int32_t size() const { return static_cast<int32_t>(types_.size()); }
  int32_t of(int64_t vertex) const { return kind_of_[vertex]; }
  int32_t type(int32_t kind) const { return types_[kind]; }

 private:
  std::vector<int32_t> kind_of_;  // Per vertex.
  std::vector<int32_t> types_;    // Per kind.
};

// The parents of every vertex. A parent that holds a vertex in several slots is
// listed once per slot.
class Parents {
 public:
  explicit Parents(const GraphBatchView& batch)
      : splits_(batch.num_vertices() + 2, 0) {
    // The parents of a vertex are counted two places after its own. Filling the
    // lists moves every split to the end of its list, and so to the place where
    // it belongs.
    for (const int32_t child : batch.child_ids) {
      if (child >= 0) ++splits_[child + 2];
    }
    for (size_t i = 2; i < splits_.size(); ++i) splits_[i] += splits_[i - 1];
    ids_.resize(splits_.back());
    for (int32_t v = 0; v < batch.num_vertices(); ++v) {
      for (const int32_t child : batch.children(v)) {
        if (child >= 0) ids_[splits_[child + 1]++] = v;
      }
    }
  }

  Span<int32_t> of(int32_t vertex) const {
    return {ids_.data() + splits_[vertex],
            splits_[vertex + 1] - splits_[vertex]};
  }

 private:
  std::vector<int32_t> splits_, ids_;
};

// Plans the tasks of a batch, one micro-batch after the other. Every child slot
// is visited once when its child has been evaluated, and once per kind when the
// last vertex of that kind among the child and its descendants has been
// evaluated.
class RatioPlanner {
 public:
  RatioPlanner(const GraphBatchView& batch, const Kinds& kinds,
               const TaskPlan& by_level)
      : kinds_(kinds),
        num_kinds_(kinds.size()),
        by_level_(by_level),
        parents_(batch),
        waiting_(batch.num_vertices()),
        blocked_(batch.num_vertices() * num_kinds_),
        frontier_(num_kinds_, 0),
        ready_(num_kinds_) {
    plan_.task_of.resize(batch.num_vertices());
    plan_.task_splits.push_back(0);
    for (int32_t v = 0; v < batch.num_vertices(); ++v) {
      for (const int32_t child : batch.children(v)) waiting_[v] += child >= 0;
    }
    // Children precede their parents.
    for (const int32_t vertex : by_level.vertices) {
      for (const int32_t child : batch.children(vertex)) {
        if (child >= 0) AddChild(vertex, child);
      }
    }
  }

  // Plans the vertices [first, limit) of a micro-batch, which contain their own
  // children.
  void PlanMicroBatch(int32_t first, int32_t limit) {
    const size_t first_task = plan_.task_type.size();
    for (int32_t v = first; v < limit; ++v) {
      const int32_t kind = kinds_.of(v);
      if (waiting_[v] == 0) ready_[kind].push_back(v);
      if (blocked(v)[kind] == 0) ++frontier_[kind];
    }
    while (plan_.task_splits.back() < limit) RunTask(KindOfLargestRatio());
    TakeLevelsIfFewer(first, limit, first_task);
  }

  TaskPlan Finish() {
    plan_.vertices.resize(plan_.task_of.size());
    std::iota(plan_.vertices.begin(), plan_.vertices.end(), 0);
    CountingSort(plan_.task_of, &plan_.vertices);
    return std::move(plan_);
  }

 private:
  int32_t* blocked(int64_t vertex) {
    return blocked_.data() + vertex * num_kinds_;
  }

  void AddChild(int32_t vertex, int32_t child) {
    int32_t* const own = blocked(vertex);
    const int32_t* const childs = blocked(child);
    for (int32_t kind = 0; kind < num_kinds_; ++kind) {
      own[kind] += childs[kind] > 0;
    }
    const int32_t kind = kinds_.of(child);
    own[kind] += childs[kind] == 0;
  }

  // Returns the first kind if ratios are equal. REQUIRES: some vertex is ready.
  int32_t KindOfLargestRatio() const {
    int32_t best = 0;
    for (int32_t kind = 1; kind < num_kinds_; ++kind) {
      const int64_t ready = ready_[kind].size(), most = ready_[best].size();
      // Cross-multiplied, since a kind without unevaluated vertices has the
      // ratio 0 / 0.
      if (most == 0 || ready * frontier_[best] > most * frontier_[kind]) {
        best = kind;
      }
    }
    return best;
  }

  void RunTask(int32_t kind) {
    const int32_t task = static_cast<int32_t>(plan_.task_type.size());
    plan_.task_type.push_back(kinds_.type(kind));
    running_.clear();
    running_.swap(ready_[kind]);
    plan_.task_splits.push_back(plan_.task_splits.back() +
                                static_cast<int32_t>(running_.size()));
    frontier_[kind] -= static_cast<int64_t>(running_.size());
    for (const int32_t vertex : running_) {
      plan_.task_of[vertex] = task;
      for (const int32_t parent : parents_.of(vertex)) {
        if (--waiting_[parent] == 0) {
          ready_[kinds_.of(parent)].push_back(parent);
        }
        Unblock(parent, kind);
      }
    }
    while (!unblocked_.empty()) {
      const int32_t vertex = unblocked_.back();
      unblocked_.pop_back();
      for (const int32_t parent : parents_.of(vertex)) Unblock(parent, kind);
    }
  }

  // Called when one more child of `parent` neither is nor depends on an
  // unevaluated vertex of `kind`.
  void Unblock(int32_t parent, int32_t kind) {
    if (--blocked(parent)[kind] > 0) return;
    if (kinds_.of(parent) == kind) {
      ++frontier_[kind];
    } else {
      unblocked_.push_back(parent);
    }
  }

  // Replaces the tasks from `first_task` on, which hold the vertices [first,
  // limit), by the tasks of PlanByLevel if these are fewer.
  void TakeLevelsIfFewer(int32_t first, int32_t limit, size_t first_task) {
    const std::vector<int32_t>& splits = by_level_.task_splits;
    const size_t begin = next_by_level_;
    while (splits[next_by_level_] < limit) ++next_by_level_;
    const size_t end = next_by_level_;
    if (plan_.task_type.size() - first_task <= end - begin) return;
    plan_.task_type.resize(first_task);
    plan_.task_splits.resize(first_task + 1);
    for (size_t task = begin; task < end; ++task) {
      plan_.task_type.push_back(by_level_.task_type[task]);
      plan_.task_splits.push_back(splits[task + 1]);
    }
    for (int32_t v = first; v < limit; ++v) {
      plan_.task_of[v] =
          static_cast<int32_t>(by_level_.task_of[v] - begin + first_task);
    }
  }

  const Kinds& kinds_;
  const int32_t num_kinds_;
  const TaskPlan& by_level_;
  // The first task of by_level_ that is not yet compared.
  size_t next_by_level_ = 0;
  const Parents parents_;
  // Per vertex: the number of child slots whose child is not evaluated.
  std::vector<int32_t> waiting_;
  // Per vertex and kind: the number of child slots whose child is an
  // unevaluated vertex of that kind or depends on one.
  std::vector<int32_t> blocked_;
  std::vector<int64_t> frontier_;            // |F| per kind.
  std::vector<std::vector<int32_t>> ready_;  // R per kind.
  std::vector<int32_t> running_;             // A member to reuse its memory.
  // Vertices of other kinds whose parents are visited next.
  std::vector<int32_t> unblocked_;
  TaskPlan plan_;
};

}  // namespace

TaskPlan PlanByRatio(const GraphBatchView& batch,
                     Span<int32_t> micro_batch_splits, TaskPlan by_level) {
  const Kinds kinds(batch.vertex_type);
  if (kinds.size() < 2) return by_level;
  RatioPlanner planner(batch, kinds, by_level);
  for (int64_t s = 0; s + 1 < micro_batch_splits.size(); ++s) {
    planner.PlanMicroBatch(micro_batch_splits[s], micro_batch_splits[s + 1]);
  }
  return planner.Finish();
}

}  // namespace cavs
