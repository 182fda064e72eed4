#include "cc/kernels/profiler_tracer.h"

#include <cstdlib>
#include <cstring>

#include "tsl/profiler/lib/traceme.h"

namespace cavs {
namespace {

using ::tsl::profiler::TraceMe;
using ::tsl::profiler::TraceMeEncode;

// The level of TensorFlow's own operators, which is recorded unless the user
// asks for less.
constexpr int kLevel = ::tsl::profiler::TraceMeLevel::kInfo;

}  // namespace

bool ProfilerTracer::IsActive() { return TraceMe::Active(kLevel); }

bool ProfilerTracer::IsOutlineWanted() {
  const char* value = std::getenv("CAVS_PROFILE");
  return value != nullptr && std::strcmp(value, "outline") == 0;
}

int64_t ProfilerTracer::Begin(Stage stage, const std::string& name) {
  return TraceMe::ActivityStart(
      [&] { return TraceMeEncode(name, {{"stage", ToString(stage)}}); },
      kLevel);
}

void ProfilerTracer::End(int64_t id) { TraceMe::ActivityEnd(id); }

}  // namespace cavs
