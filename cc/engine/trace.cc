#include "cc/engine/trace.h"

#include <cstdio>
#include <map>

namespace cavs::engine {
namespace {

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + '"';
}

std::string Microseconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", static_cast<double>(ns) * 1e-3);
  return text;
}

}  // namespace

const char* ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kSkipped:
      return "skipped";
  }
  return "?";
}

std::string ChromeTrace(const std::vector<TraceEvent>& events) {
  std::string json = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  std::map<int, std::string> workers;
  const char* separator = "\n";
  for (const TraceEvent& event : events) {
    workers[event.worker] = event.worker_name;
    json += separator;
    json +=
        "{\"ph\": \"X\", \"pid\": 0, \"tid\": " + std::to_string(event.worker);
    json += ", \"name\": " + Quoted(event.name);
    json += ", \"ts\": " + Microseconds(event.began_ns);
    json += ", \"dur\": " + Microseconds(event.ended_ns - event.began_ns);
    json += ", \"args\": {\"sequence\": " + std::to_string(event.sequence);
    json += ", \"outcome\": " + Quoted(ToString(event.outcome));
    json += ", \"pushed_at\": " +
            Quoted(event.file + ":" + std::to_string(event.line));
    json += ", \"pushed_us\": " + Microseconds(event.pushed_ns) + "}}";
    separator = ",\n";
  }
  for (const auto& [worker, name] : workers) {
    json += separator;
    json += "{\"ph\": \"M\", \"pid\": 0, \"tid\": " + std::to_string(worker);
    json +=
        ", \"name\": \"thread_name\", \"args\": {\"name\": " + Quoted(name) +
        "}}";
    separator = ",\n";
  }
  return json + "\n]}\n";
}

}  // namespace cavs::engine
