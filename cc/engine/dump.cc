// The implementation of Engine::Dump().
#include <algorithm>
#include <vector>

#include "cc/engine/core.h"

namespace cavs::engine {
namespace {

// At most this many operations, and this many variables, are listed. Further
// operations are only counted.
constexpr size_t kMaxListed = 200;

std::string NameOf(const Var& var) {
  const std::string id = "v" + std::to_string(var.index);
  return var.name.empty() ? id : "'" + var.name + "' (" + id + ")";
}

std::string NameOf(const Op& op) {
  const std::string number = "#" + std::to_string(op.sequence);
  if (op.role == Role::kWait) return number + " a thread that waits";
  if (op.role == Role::kDelete) return number + " a deletion";
  return number + " '" + op.name + "' pushed at " + op.site.file + ":" +
         std::to_string(op.site.line);
}

// Returns, for example, "'x' (v0) to mutate, after #3 #4".
std::string Blockers(const Use& use, const std::vector<const Op*>& live) {
  std::string text =
      NameOf(*use.var) + (use.mutate ? " to mutate" : " to read");
  text += ", after";
  size_t listed = 0;
  for (const Op* op : live) {
    if (op->sequence >= use.op->sequence || listed == 8) break;
    for (const Use& other : op->uses) {
      if (other.var != use.var || !(other.mutate || use.mutate)) continue;
      text += " #" + std::to_string(op->sequence);
      ++listed;
    }
  }
  return listed == 8 ? text + " ..." : text;
}

std::string StateOf(const Op& op, const std::vector<const Op*>& live,
                    const Policy& policy) {
  switch (op.state) {
    case OpState::kFree:
      return "free";
    case OpState::kReady:
      return "ready to run, stream " + std::to_string(op.stream);
    case OpState::kRunning:
      return "running on " + policy.WorkerName(op.worker);
    case OpState::kStarted:
      return "started, its completion is not called yet";
    case OpState::kWaiting:
      break;
  }
  std::string text = "waits for ";
  const char* separator = "";
  for (const Use& use : op.uses) {
    if (use.granted) continue;
    text += separator + Blockers(use, live);
    separator = "; ";
  }
  return text;
}

}  // namespace

std::string Core::Dump() {
  Lock lock(mutex_);
  std::vector<const Op*> live;
  for (const Op& op : tracker_.ops()) {
    if (op.state != OpState::kFree) live.push_back(&op);
  }
  std::sort(live.begin(), live.end(),
            [](const Op* a, const Op* b) { return a->sequence < b->sequence; });
  std::string text = "engine " + policy_->name() + ": " +
                     std::to_string(live.size()) + " unfinished, " +
                     std::to_string(running_) + " running, " +
                     std::to_string(unraised_.size()) + " errors not raised\n";
  for (size_t i = 0; i < live.size() && i < kMaxListed; ++i) {
    text += "  " + NameOf(*live[i]) + ": " + StateOf(*live[i], live, *policy_) +
            "\n";
  }
  if (live.size() > kMaxListed) {
    text += "  and " + std::to_string(live.size() - kMaxListed) + " more\n";
  }
  size_t listed = 0;
  for (const Var& var : tracker_.vars()) {
    if (!var.live || !(var.mutating || var.readers > 0 || var.failures))
      continue;
    if (++listed > kMaxListed) break;
    text +=
        "  " + NameOf(var) + ", version " + std::to_string(var.version) + ": ";
    text += var.mutating ? "being mutated"
                         : std::to_string(var.readers) + " reads granted";
    if (var.failures) text += ", failed";
    text += var.doomed ? ", to be deleted\n" : "\n";
  }
  return text;
}

}  // namespace cavs::engine
