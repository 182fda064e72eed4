// A record of which operation ran when and where.
#ifndef CAVS_CC_ENGINE_TRACE_H_
#define CAVS_CC_ENGINE_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cavs::engine {

enum class Outcome : uint8_t { kDone, kFailed, kSkipped };

const char* ToString(Outcome outcome);

// One operation in a trace. Times are nanoseconds since the trace was started.
struct TraceEvent {
  std::string name;
  std::string file;  // Where the operation was pushed.
  int line = 0;
  uint64_t sequence = 0;  // In push order.
  int worker = 0;
  std::string worker_name;
  int64_t pushed_ns = 0;
  int64_t began_ns = 0;
  int64_t ended_ns = 0;
  Outcome outcome = Outcome::kDone;
};

// Converts to the trace event format of Chrome, which Perfetto opens: one row
// per worker.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
std::string ChromeTrace(const std::vector<TraceEvent>& events);

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_TRACE_H_
