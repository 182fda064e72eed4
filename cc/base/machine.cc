#include "cc/base/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "cc/base/byte_count.h"

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

size_t AvailableInSystem() {
  const size_t kilobytes = Entry("/proc/meminfo", "MemAvailable:");
  return SaturatingMultiply(kilobytes, 1024);
}

// Anonymous memory only: pages of cached files are released when memory is
// needed.
size_t AvailableInContainer() {
  const size_t limit = Number("/sys/fs/cgroup/memory.max");
  const size_t used = Entry("/sys/fs/cgroup/memory.stat", "anon");
  if (limit == SIZE_MAX || used == SIZE_MAX) return SIZE_MAX;
  return limit > used ? limit - used : 0;
}

}  // namespace

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
