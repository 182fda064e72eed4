// The orders in which policies take operations. Not thread safe.
#ifndef CAVS_CC_ENGINE_QUEUES_H_
#define CAVS_CC_ENGINE_QUEUES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/engine/operation.h"

namespace cavs::engine {

// A PriorityQueue holds ready operations. Pop() returns the operation of
// highest priority, and among equal priorities the one that became ready first.
// Every kFairness-th call compares the first operation of each priority instead
// and returns the one that was pushed first.
class PriorityQueue {
 public:
  static constexpr uint64_t kFairness = 16;

  bool empty() const { return levels_.empty(); }

  void Push(Op* op) {
    auto level = std::find_if(
        levels_.begin(), levels_.end(),
        [&](const Level& level) { return level.priority <= op->priority; });
    if (level == levels_.end() || level->priority != op->priority) {
      level = levels_.insert(level, Level{op->priority, OpList()});
    }
    level->ops.PushBack(op);
  }

  // Returns null if the queue is empty.
  Op* Pop() {
    if (levels_.empty()) return nullptr;
    auto level = levels_.begin();
    if (++pops_ % kFairness == 0) {
      level = std::min_element(
          level, levels_.end(), [](const Level& a, const Level& b) {
            return a.ops.front()->sequence < b.ops.front()->sequence;
          });
    }
    Op* op = level->ops.PopFront();
    if (level->ops.empty()) levels_.erase(level);
    return op;
  }

 private:
  // The ready operations of one priority. `ops` is never empty.
  struct Level {
    int priority;
    OpList ops;
  };

  std::vector<Level> levels_;  // Highest priority first.
  uint64_t pops_ = 0;
};

// An OrderedQueue holds operations in push order. An operation that is not
// ready yet holds up all operations behind it.
class OrderedQueue {
 public:
  void Admit(Op* op) {
    op->next_in_stream = nullptr;
    (first_ == nullptr ? first_ : last_->next_in_stream) = op;
    last_ = op;
  }

  bool Runnable() const {
    return first_ != nullptr && first_->state == OpState::kReady;
  }

  // Returns null unless Runnable().
  Op* Pop() {
    if (!Runnable()) return nullptr;
    Op* op = first_;
    first_ = op->next_in_stream;
    return op;
  }

 private:
  Op* first_ = nullptr;
  Op* last_ = nullptr;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_QUEUES_H_
