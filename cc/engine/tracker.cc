#include "cc/engine/tracker.h"

#include <cassert>

namespace cavs::engine {

Var* Tracker::NewVar(std::string_view name) {
  Var* var = free_vars_;
  if (var == nullptr) {
    var = &vars_.emplace_back();
    var->index = static_cast<uint32_t>(vars_.size() - 1);
  } else {
    free_vars_ = var->next_free;
  }
  var->live = true;
  var->doomed = false;
  var->version = 0;
  var->name.assign(name);
  return var;
}

Var* Tracker::Find(uint32_t index, uint32_t generation) {
  if (index >= vars_.size()) return nullptr;
  Var* var = &vars_[index];
  return var->live && var->generation == generation ? var : nullptr;
}

void Tracker::Recycle(Var* var) {
  assert(!var->mutating && var->readers == 0 && var->first == nullptr);
  var->live = false;
  ++var->generation;
  var->failures.reset();
  var->next_free = free_vars_;
  free_vars_ = var;
}

Op* Tracker::NewOp(size_t max_uses) {
  Op* op = free_ops_;
  if (op == nullptr) {
    op = &ops_.emplace_back();
  } else {
    free_ops_ = op->next;
  }
  op->sequence = next_sequence_++;
  op->state = OpState::kWaiting;
  // Uses may not move: queues hold their addresses.
  op->uses.reserve(max_uses);
  return op;
}

void Tracker::AddUse(Op* op, Var* var, bool mutate) {
  if (var->named_by == op->sequence) return;
  var->named_by = op->sequence;
  assert(op->uses.size() < op->uses.capacity());
  op->uses.push_back({op, var, nullptr, mutate, false});
}

void Tracker::Submit(Op* op) {
  op->unmet = static_cast<uint32_t>(op->uses.size());
  if (op->unmet == 0) return MarkReady(op);
  for (Use& use : op->uses) {
    if (use.mutate) {
      AppendMutation(&use);
    } else {
      AppendRead(&use);
    }
  }
}

void Tracker::Finish(Op* op) {
  for (Use& use : op->uses) {
    assert(use.granted);
    if (use.mutate) {
      if (op->ran) ++use.var->version;
      FinishMutation(use.var);
    } else {
      FinishRead(use.var);
    }
  }
}

void Tracker::Recycle(Op* op) {
  op->uses.clear();
  op->state = OpState::kFree;
  op->role = Role::kWork;
  op->ran = false;
  op->waiter = nullptr;
  // The tests are for speed: resetting a null shared pointer writes to it.
  if (op->failure) op->failure.reset();
  if (op->inherited) op->inherited.reset();
  op->next = free_ops_;
  free_ops_ = op;
}

Op* Tracker::TakeReady() { return ready_.PopFront(); }

void Tracker::AppendRead(Use* use) {
  Var* var = use->var;
  if (var->mutating || var->first != nullptr) return Enqueue(use);
  ++var->readers;
  Grant(use);
}

void Tracker::AppendMutation(Use* use) {
  Var* var = use->var;
  if (var->mutating || var->readers > 0) return Enqueue(use);
  assert(var->first == nullptr);
  var->mutating = true;
  Grant(use);
}

void Tracker::FinishRead(Var* var) {
  assert(var->readers > 0 && !var->mutating);
  if (--var->readers > 0 || var->first == nullptr) return;
  assert(var->first->mutate);
  var->mutating = true;
  Grant(Dequeue(var));
}

void Tracker::FinishMutation(Var* var) {
  assert(var->mutating && var->readers == 0);
  var->mutating = var->first != nullptr && var->first->mutate;
  if (var->mutating) return Grant(Dequeue(var));
  while (var->first != nullptr && !var->first->mutate) {
    ++var->readers;
    Grant(Dequeue(var));
  }
}

void Tracker::Enqueue(Use* use) {
  Var* var = use->var;
  (var->first == nullptr ? var->first : var->last->next) = use;
  var->last = use;
}

Use* Tracker::Dequeue(Var* var) {
  Use* use = var->first;
  var->first = use->next;
  return use;
}

void Tracker::Grant(Use* use) {
  use->granted = true;
  if (--use->op->unmet == 0) MarkReady(use->op);
}

void Tracker::MarkReady(Op* op) {
  op->state = OpState::kReady;
  ready_.PushBack(op);
}

}  // namespace cavs::engine
