// Policies decide where and when operations run.
#ifndef CAVS_CC_ENGINE_POLICY_H_
#define CAVS_CC_ENGINE_POLICY_H_

#include <functional>
#include <memory>
#include <string>

#include "cc/engine/lock.h"
#include "cc/engine/operation.h"

namespace cavs::engine {

// A Host is an engine as its policy sees it.
class Host {
 public:
  virtual ~Host() = default;
  virtual std::mutex& mutex() = 0;
  // Runs a ready operation on this thread, whose number in traces is `worker`.
  // Then calls Policy::Ready() for the operations that have become ready.
  // REQUIRES: `lock` is held. It is released while the function runs, and held
  // again on return.
  virtual void Run(Op* op, int worker, Lock& lock) = 0;
};

// A policy decides where and when a ready operation runs, never whether: it
// calls Host::Run() once for each. The engine owns its policy. It calls all
// methods but Start(), Stop() and name() with its lock held, which guards the
// state of the policy as well.
class Policy {
 public:
  virtual ~Policy() = default;

  // May start threads, which hold on to `host` until they end.
  virtual void Start(const std::shared_ptr<Host>& host) = 0;
  // Called for every operation when it is pushed, in push order.
  virtual void Admit(Op*) {}
  // The operation may run from now on. It must not run inside this call.
  virtual void Ready(Op* op) = 0;
  // Called at the end of a push and of a completion, after the calls of Ready()
  // that they caused. Makes sure that these operations run, and releases the
  // lock.
  virtual void Kick(Lock& lock) = 0;
  // Returns whether no operation could run now.
  virtual bool Idle() const = 0;
  // Ends the threads. If `wait` is set, waits until they have ended. It does
  // not wait for the calling thread if that is one of them.
  virtual void Stop(bool wait) = 0;

  // Returns the name of the policy, for example "threaded(2)".
  virtual std::string name() const = 0;
  // Returns the name of a worker, for example "worker 1".
  virtual std::string WorkerName(int worker) const = 0;
  // Operations may name the streams [0, num_streams()). If it is 0, any stream
  // may be named and has no effect.
  virtual int num_streams() const { return 0; }
};

using PolicyFactory = std::function<std::unique_ptr<Policy>()>;

// Runs one operation at a time, in push order, inside Push(). It is the oracle
// of the other policies, and the policy for debugging. Operations that are
// pushed inside an operation, or while another thread runs operations, run
// after the operations that were pushed before them.
PolicyFactory Naive();

// Any of `workers` threads runs any operation. Operations of higher priority
// run first. Every sixteenth operation that a thread takes is the one that was
// pushed first, so that none waits for ever.
PolicyFactory Threaded(int workers);

// One thread per stream, which runs the operations that name the stream in push
// order, whatever their priorities: a stream is a queue, as on a GPU.
PolicyFactory Streams(int streams);

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_POLICY_H_
