// Policies decide where and when operations run.
#ifndef CAVS_CC_ENGINE_POLICY_H_
#define CAVS_CC_ENGINE_POLICY_H_

#include <functional>
#include <memory>
#include <string>

#include "cc/engine/lock.h"
#include "cc/engine/operation.h"

namespace cavs::engine {

// The services of an engine for its policy.
class Host {
 public:
  virtual ~Host() = default;
  virtual std::mutex& mutex() = 0;
  // Runs a ready operation on this thread, which the trace calls number
  // `worker`, and then passes the operations that this made ready to
  // Policy::Ready(). REQUIRES: `lock` is held; it is released while the
  // function runs, and held again after.
  virtual void Run(Op* op, int worker, Lock& lock) = 0;
};

// A policy decides where and when a ready operation runs, never whether: it
// calls Host::Run() once for each. Everything but Start() and Stop() is called
// with the engine's lock held, which guards the policy's state as well.
class Policy {
 public:
  virtual ~Policy() = default;

  // May start threads, which hold on to `host` until they end.
  virtual void Start(const std::shared_ptr<Host>& host) = 0;
  // Called for every operation when it is pushed, in push order.
  virtual void Admit(Op*) {}
  // The operation may run from now on. It must not run inside this call.
  virtual void Ready(Op* op) = 0;
  // Called after some calls of Ready(), by a thread that is not one of the
  // policy's own. Makes sure that those operations run, and releases the lock.
  virtual void Kick(Lock& lock) = 0;
  // Whether no operation could run now.
  virtual bool Idle() const = 0;
  // Ends the threads. If `wait` is set, waits until they have ended, except for
  // the calling thread, which ends when it returns.
  virtual void Stop(bool wait) = 0;

  // "threaded(2)"
  virtual std::string name() const = 0;
  // "worker 1"
  virtual std::string WorkerName(int worker) const = 0;
  // Operations may name the streams [0, num_streams()). If it is 0, any stream
  // may be named and has no effect.
  virtual int num_streams() const { return 0; }
};

using PolicyFactory = std::function<std::unique_ptr<Policy>()>;

// One operation at a time, in push order, inside Push(): the oracle of the
// other policies, and the one for debugging. (Operations pushed from inside an
// operation, or while another thread runs operations, follow those that were
// pushed before them.)
PolicyFactory Naive();

// Any of `workers` threads runs any operation. Operations of higher priority
// run first. Every sixteenth operation taken is the one that was pushed first,
// so that none waits for ever.
PolicyFactory Threaded(int workers);

// One thread per stream, which runs the operations that name the stream in push
// order, whatever their priorities: a stream is a queue, as on a GPU.
PolicyFactory Streams(int streams);

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_POLICY_H_
