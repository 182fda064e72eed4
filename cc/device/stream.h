// Work of a device, in order.
#ifndef CAVS_CC_DEVICE_STREAM_H_
#define CAVS_CC_DEVICE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "cc/base/dtype.h"
#include "cc/base/status.h"

namespace cavs {

// A point of a stream that another can wait for.
class Event {
 public:
  virtual ~Event() = default;
};

// What is put into one stream is done in order; what is put into two is done
// side by side but for the events that one waits for. A call may return before
// its work is done, and any error that it returns may be that of earlier work:
// after an error nothing more is done. Synchronize() says how all of it went.
//
// Thread safety: one thread at a time may call a stream; different threads may
// call different streams of a device.
class Stream {
 public:
  virtual ~Stream() = default;

  // Calls `work` on the host.
  virtual Status Call(std::function<Status()> work) = 0;

  // These are on memory of the device.
  virtual Status Zero(void* to, size_t bytes) = 0;
  virtual Status Copy(void* to, const void* from, size_t bytes) = 0;
  // sums[i] += terms[i] for n terms of `dtype` and sums of SumType(dtype).
  // kUnimplemented if no sum of that type exists.
  virtual Status Add(DType dtype, const void* terms, int64_t n, void* sums) = 0;

  // The point behind all that was put into the stream so far.
  virtual std::shared_ptr<Event> Record() = 0;
  // What is put into the stream from now on begins when the event has come. If
  // the other stream has failed by then, this one has failed too.
  virtual Status Wait(std::shared_ptr<Event> event) = 0;

  // Returns when all is done, with the first error. The stream then begins
  // anew.
  virtual Status Synchronize() = 0;

  // So much work comes, in nanoseconds of one worker, roughly.
  virtual void Expect(double nanos) { (void)nanos; }
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_STREAM_H_
