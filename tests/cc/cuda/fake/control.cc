#include "tests/cc/cuda/fake/control.h"

#include "tests/cc/cuda/fake/machine.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace cavs_fake {

EXPORTED void fake_counts(FakeCounts* counts) {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  *counts = m.counts;
  counts->pinned_bytes_in_use = m.memory.bytes_in_use(MemoryKind::kPinned);
}

EXPORTED int64_t fake_launches(const char* kernel) {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  const auto found = m.launches.find(kernel);
  return found == m.launches.end() ? 0 : found->second;
}

EXPORTED int64_t fake_calls(const char* function) {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  if (function == nullptr) {
    int64_t all = 0;
    for (const auto& [name, calls] : m.calls) all += calls;
    return all;
  }
  const auto found = m.calls.find(function);
  return found == m.calls.end() ? 0 : found->second;
}

EXPORTED void fake_each_kernel(void (*call)(void*, const char*, int64_t),
                               void* data) {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  for (const auto& [name, launches] : m.launches) {
    if (launches > 0) call(data, name.c_str(), launches);
  }
}

EXPORTED void fake_reset() {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  m.Reset();
}

EXPORTED bool fake_set(const char* option, int64_t value) {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  return m.Set(option, value);
}

EXPORTED void fake_fail(const char* function, int64_t calls_before, int error) {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  m.FailCall(function, calls_before, error);
}

EXPORTED const char* fake_fault() {
  Machine& m = Machine::Get();
  const Lock lock(m.mutex);
  thread_local std::string text;
  text = m.fault_text();
  return text.c_str();
}

}  // namespace cavs_fake
