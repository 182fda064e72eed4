#include "cc/engine/engine.h"

#include "cc/engine/core.h"
#include "cc/engine/fork_sentinel.h"

namespace cavs::engine {

struct Engine::Life {
  explicit Life(const PolicyFactory& policy) : core(Core::Make(policy)) {}

  ForkSentinel sentinel;
  std::shared_ptr<Core> core;
};

Engine::Engine(PolicyFactory policy)
    : policy_(std::move(policy)), life_(new Life(policy_)) {}

Engine::~Engine() {
  Life* life = life_.load();
  // In a child process the threads do not exist, and one of them may have held
  // the lock, so the life is leaked.
  if (life->sentinel.InChild()) return;
  life->core->Close({});
  delete life;
}

const std::shared_ptr<Core>& Engine::core() {
  // Acquire: pairs with the release below, so that the new life is seen whole.
  Life* life = life_.load(std::memory_order_acquire);
  if (__builtin_expect(life->sentinel.InChild(), false)) {
    // The parent's operations run in the parent. The old life is leaked here,
    // as its state may be inconsistent: a thread that no longer exists may have
    // been changing it.
    auto fresh = std::make_unique<Life>(policy_);
    // Release publishes the new life. If another thread has published one,
    // acquire makes this thread see that life whole.
    if (life_.compare_exchange_strong(life, fresh.get(),
                                      std::memory_order_acq_rel)) {
      life = fresh.release();
    } else {
      fresh->core->Close({});
    }
  }
  return life->core;
}

Variable Engine::NewVariable(std::string_view name) {
  return core()->NewVariable(name);
}

void Engine::Push(Closure fn, VariableList read, VariableList mutate,
                  const PushOptions& options, bool async, Site site) {
  // The copy keeps the core alive: the operation may run and destroy the engine
  // before this function returns.
  const std::shared_ptr<Core> core = this->core();
  core->Push(&fn, read, mutate, options, async, site);
}

void Engine::WaitFor(Variable variable, const Poll& poll) {
  core()->WaitFor(variable, poll);
}

void Engine::WaitAll(const Poll& poll) { core()->WaitAll(poll); }

void Engine::DeleteVariable(Variable variable) {
  core()->DeleteVariable(variable);
}

uint64_t Engine::Version(Variable variable) {
  return core()->Version(variable);
}

std::string Engine::Dump() { return core()->Dump(); }

void Engine::StartTrace() { core()->StartTrace(); }

std::vector<TraceEvent> Engine::StopTrace() { return core()->StopTrace(); }

std::string Engine::PolicyName() { return core()->PolicyName(); }

std::vector<OperationError> Engine::Close(const Poll& poll) {
  // Acquire: as in core(). In a child there is nothing to close.
  Life* life = life_.load(std::memory_order_acquire);
  if (life->sentinel.InChild()) return {};
  return life->core->Close(poll);
}

}  // namespace cavs::engine
