#include "cc/core/memory_need.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "cc/core/byte_count.h"

namespace cavs {
namespace {

// The number after `key` in a file of "key number" lines; SIZE_MAX if there is
// none.
size_t Entry(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  size_t value = 0;
  while (file >> word) {
    if (word == key && file >> value) return value;
  }
  return SIZE_MAX;
}

// The number that a file holds; SIZE_MAX if it holds none ("max").
size_t Number(const char* path) {
  std::ifstream file(path);
  size_t value = 0;
  return file >> value ? value : SIZE_MAX;
}

Status TooLarge(const std::string& minibatch, bool keeps_most) {
  const char* advice =
      keeps_most
          ? "Use a smaller minibatch, and add up the gradients of several."
          : "Use a smaller minibatch, or a smaller micro_batch, which needs "
            "fewer temporaries.";
  return Status(StatusCode::kResourceExhausted,
                StrCat("minibatch: got ", minibatch,
                       " but expected one that fits into the memory that is "
                       "available. ",
                       advice));
}

size_t AvailableInSystem() {
  const size_t kilobytes = Entry("/proc/meminfo", "MemAvailable:");
  return SaturatingMultiply(kilobytes, 1024);
}

// Pages that only cache files are given up when memory is needed.
size_t AvailableInContainer() {
  const size_t limit = Number("/sys/fs/cgroup/memory.max");
  const size_t used = Entry("/sys/fs/cgroup/memory.stat", "anon");
  if (limit == SIZE_MAX || used == SIZE_MAX) return SIZE_MAX;
  return limit > used ? limit - used : 0;
}

}  // namespace

size_t MemoryNeed::workspace() const {
  return SaturatingAdd(SaturatingAdd(state, tape),
                       SaturatingAdd(temporaries, packed_weights));
}

size_t MemoryNeed::total() const { return SaturatingAdd(workspace(), results); }

MemoryNeed& MemoryNeed::operator+=(const MemoryNeed& other) {
  state = SaturatingAdd(state, other.state);
  tape = SaturatingAdd(tape, other.tape);
  temporaries = SaturatingAdd(temporaries, other.temporaries);
  packed_weights = SaturatingAdd(packed_weights, other.packed_weights);
  results = SaturatingAdd(results, other.results);
  return *this;
}

std::string ToString(const MemoryNeed& need) {
  return StrCat(need.total(), " bytes (", need.state, " state, ", need.tape,
                " tape, ", need.temporaries, " temporaries, ",
                need.packed_weights, " packed weights, ", need.results,
                " results)");
}

size_t TrainingPeak(const MemoryNeed& forward, const MemoryNeed& backward) {
  const size_t kept = SaturatingAdd(forward.state, forward.tape);
  const size_t passed = SaturatingMultiply(2, forward.results);
  return std::max(forward.total(),
                  SaturatingAdd(SaturatingAdd(kept, passed), backward.total()));
}

Status DoesNotFit(const MemoryNeed& need) {
  return TooLarge(StrCat("one that needs ", ToString(need)),
                  need.tape > need.temporaries);
}

Status DoesNotFit(const MemoryNeed& forward, const MemoryNeed& backward) {
  return TooLarge(
      StrCat("one whose training step needs ", TrainingPeak(forward, backward),
             " bytes at its peak (forward: ", ToString(forward),
             "; backward: ", ToString(backward), ")"),
      forward.tape > backward.temporaries);
}

size_t AvailableMemory() {
  return std::min(AvailableInSystem(), AvailableInContainer());
}

bool MayFit(size_t bytes) {
  constexpr size_t kFew = size_t{64} << 20;
  return bytes <= kFew || bytes <= AvailableMemory();
}

size_t CacheBytes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);  // NOLINT: its type.
  if (bytes > 0) return bytes;
#endif
  return size_t{1} << 20;
}

}  // namespace cavs
