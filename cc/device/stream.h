// Streams: queues of work on a device.
#ifndef CAVS_CC_DEVICE_STREAM_H_
#define CAVS_CC_DEVICE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "cc/base/dtype.h"
#include "cc/base/status.h"

namespace cavs {

// A point in a stream that another stream can wait for.
class Event {
 public:
  virtual ~Event() = default;
};

// Work in one stream is done in order; work in two streams is done side by
// side, except for events that one waits for. A call may return before its work
// is done, and may return the error of earlier work: after an error nothing
// more is done. Synchronize() returns the outcome of all work.
//
// Thread safety: one thread at a time may call a stream; different threads may
// call different streams of a device.
class Stream {
 public:
  virtual ~Stream() = default;

  // Calls `work` on the host.
  virtual Status Call(std::function<Status()> work) = 0;

  // The next three work on device memory.
  virtual Status Zero(void* to, size_t bytes) = 0;
  virtual Status Copy(void* to, const void* from, size_t bytes) = 0;
  // sums[i] += terms[i] for n terms of `dtype` and sums of SumType(dtype).
  // kUnimplemented if no sum of that type exists.
  virtual Status Add(DType dtype, const void* terms, int64_t n, void* sums) = 0;

  // Sets *finite, in memory of the host, to false if one of n numbers of a
  // native type, in memory of the device, is infinite or NaN. Only called if
  // Capabilities::asks_if_finite is set.
  virtual Status ClearUnlessFinite(DType, const void*, int64_t, bool*) {
    return Status(StatusCode::kUnimplemented,
                  "the host cannot ask the device whether values are finite");
  }

  // The point behind all work that was put into the stream so far.
  virtual std::shared_ptr<Event> Record() = 0;
  // Work that is put into the stream from now on begins after the event. If the
  // other stream has failed by then, this one has failed too.
  virtual Status Wait(std::shared_ptr<Event> event) = 0;

  // Returns when all work is done, with the first error. Afterwards the stream
  // has no error.
  virtual Status Synchronize() = 0;

  // Returns when work that was put into the stream reads nothing any more that
  // the caller has passed in memory of the host, such as bindings.
  virtual Status Settle() { return Synchronize(); }

  // Returns when memory that work uses may be given to later work in any stream
  // that may use it: when the work is done, unless all work is in one order
  // anyway. The stream then has no error.
  virtual Status Retire() { return Synchronize(); }

  // Work that is put into the stream between these two is that of tasks, in
  // order. The stream may collect it, and begin it together at the end, or when
  // anything else is asked of the stream. EndTasks() may be called without the
  // other.
  virtual Status BeginTasks() { return Status(); }
  virtual Status EndTasks() { return Status(); }

  // A hint that work of about so many nanoseconds on one worker will follow.
  virtual void Expect(double nanos) { (void)nanos; }
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_STREAM_H_
