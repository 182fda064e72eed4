// The driver's functions of streams and events.
#include <chrono>

#include "tests/cc/cuda/fake/entry.h"

namespace cavs_fake {
namespace {

double Seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int CreateStream(Call& call, void** handle) {
  auto stream = std::make_shared<Stream>();
  stream->context = call.context;
  *handle = stream.get();
  call.machine.streams[*handle] = std::move(stream);
  return 0;
}

Event* FindEvent(Machine& m, void* handle) {
  const auto found = m.events.find(handle);
  return found == m.events.end() ? nullptr : found->second.get();
}

bool Reached(const Event& event) {
  return event.stream == nullptr || event.stream->done >= event.point;
}

}  // namespace

CAVS_FAKE(cuStreamCreate, void** handle, unsigned flags) {
  BEGIN(Needs::kContext);
  if (flags > kStreamNonBlocking) return kInvalidValue;
  return CreateStream(call, handle);
}

CAVS_FAKE(cuStreamCreateWithPriority, void** handle, unsigned flags, int) {
  BEGIN(Needs::kContext);
  if (flags > kStreamNonBlocking) return kInvalidValue;
  return CreateStream(call, handle);
}

CAVS_FAKE(cuCtxGetStreamPriorityRange, int* least, int* greatest) {
  BEGIN(Needs::kContext);
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return 0;
}

// What is in the stream is still done: here at once.
CAVS_FAKE(cuStreamDestroy_v2, void* handle) {
  BEGIN(Needs::kContext);
  const auto found = m.streams.find(handle);
  if (found == m.streams.end()) {
    return m.Refuse(kInvalidHandle, "cuStreamDestroy: no such stream");
  }
  const auto stream = found->second;
  m.Advance(call.lock, *stream, stream->put);
  m.streams.erase(handle);
  return 0;
}

CAVS_FAKE(cuStreamSynchronize, void* handle) {
  BEGIN(Needs::kContext);
  const auto stream = m.FindStream(handle);
  if (stream == nullptr) {
    return m.Refuse(kInvalidHandle, "cuStreamSynchronize: no such stream");
  }
  ++m.counts.host_waits;
  return m.Advance(call.lock, *stream, stream->put);
}

// Each question sees a little more done.
CAVS_FAKE(cuStreamQuery, void* handle) {
  BEGIN(Needs::kContext);
  const auto stream = m.FindStream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->done == stream->put) return 0;
  const int error = m.Advance(call.lock, *stream, stream->done + 1);
  return error != 0 ? error : kNotReady;
}

CAVS_FAKE(cuStreamGetCtx, void* handle, Context** context) {
  BEGIN(Needs::kDriver);
  const auto stream = m.FindStream(handle);
  if (stream == nullptr) return kInvalidHandle;
  *context = stream->context;
  return 0;
}

CAVS_FAKE(cuStreamWaitEvent, void* handle, void* event_handle, unsigned) {
  BEGIN(Needs::kContext);
  const auto stream = m.FindStream(handle);
  const Event* event = FindEvent(m, event_handle);
  if (stream == nullptr || event == nullptr) {
    return m.Refuse(kInvalidHandle,
                    "cuStreamWaitEvent: no such stream or event");
  }
  ++m.counts.event_waits;
  if (event->stream == nullptr || event->stream == stream) return 0;
  return m.Put(call.lock, *stream,
               [&m, other = event->stream, point = event->point](Lock& lock) {
                 m.Advance(lock, *other, point);
                 return Fault();
               });
}

CAVS_FAKE(cuEventCreate, void** handle, unsigned flags) {
  BEGIN(Needs::kContext);
  auto event = std::make_unique<Event>();
  event->context = call.context;
  event->timed = (flags & kEventDisableTiming) == 0;
  *handle = event.get();
  m.events[*handle] = std::move(event);
  return 0;
}

CAVS_FAKE(cuEventRecord, void* event_handle, void* handle) {
  BEGIN(Needs::kContext);
  const auto stream = m.FindStream(handle);
  Event* event = FindEvent(m, event_handle);
  if (stream == nullptr || event == nullptr) {
    return m.Refuse(kInvalidHandle, "cuEventRecord: no such stream or event");
  }
  if (event->context != stream->context) {
    return m.Refuse(kInvalidHandle, "cuEventRecord: of another context");
  }
  ++m.counts.events;
  event->stream = stream;
  event->seconds = std::make_shared<double>(0);
  event->point = stream->put + 1;
  return m.Put(call.lock, *stream, [seconds = event->seconds](Lock&) {
    *seconds = Seconds();
    return Fault();
  });
}

CAVS_FAKE(cuEventSynchronize, void* handle) {
  BEGIN(Needs::kContext);
  const Event* event = FindEvent(m, handle);
  if (event == nullptr) {
    return m.Refuse(kInvalidHandle, "cuEventSynchronize: no such event");
  }
  ++m.counts.host_waits;
  if (event->stream == nullptr) return 0;
  const auto stream = event->stream;
  return m.Advance(call.lock, *stream, event->point);
}

CAVS_FAKE(cuEventQuery, void* handle) {
  BEGIN(Needs::kContext);
  const Event* event = FindEvent(m, handle);
  if (event == nullptr) return kInvalidHandle;
  if (Reached(*event)) return 0;
  const auto stream = event->stream;
  const int error = m.Advance(call.lock, *stream, stream->done + 1);
  return error != 0 ? error : kNotReady;
}

CAVS_FAKE(cuEventElapsedTime, float* milliseconds, void* begin, void* end) {
  BEGIN(Needs::kContext);
  const Event* first = FindEvent(m, begin);
  const Event* last = FindEvent(m, end);
  if (first == nullptr || last == nullptr || !first->timed || !last->timed ||
      first->stream == nullptr || last->stream == nullptr) {
    return m.Refuse(kInvalidHandle, "cuEventElapsedTime: not two timed events");
  }
  if (!Reached(*first) || !Reached(*last)) return kNotReady;
  *milliseconds = 1e3 * (*last->seconds - *first->seconds);
  return 0;
}

CAVS_FAKE(cuEventDestroy_v2, void* handle) {
  BEGIN(Needs::kContext);
  return m.events.erase(handle) == 1 ? 0 : kInvalidHandle;
}

CAVS_FAKE(cuLaunchHostFunc, void* handle, void (*function)(void*), void* data) {
  BEGIN(Needs::kContext);
  const auto stream = m.FindStream(handle);
  if (stream == nullptr) return kInvalidHandle;
  return m.Put(call.lock, *stream, [function, data](Lock& lock) {
    lock.unlock();
    InHostFunction() = true;
    function(data);
    InHostFunction() = false;
    lock.lock();
    return Fault();
  });
}

}  // namespace cavs_fake
