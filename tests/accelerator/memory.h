// Memory of the test device, which the host cannot touch.

#ifndef CAVS_TESTS_ACCELERATOR_MEMORY_H_
#define CAVS_TESTS_ACCELERATOR_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "tests/accelerator/work.h"

namespace cavs_test {

// The distance from an address that the device gives out to the bytes behind
// it.
constexpr std::size_t kWall = std::size_t{1} << 36;

// Memory that is given out under addresses without access: what the host reads
// or writes there ends the process. Code of the device goes through Real().
// No address is given out twice, and freed memory has no access either.
//
// Thread safety: every method may be called from any thread.
class WalledMemory {
 public:
  WalledMemory();

  // Null if there is no more.
  void* Allocate(std::size_t size);
  void Free(void* address);
  std::size_t bytes_in_use() const;

 private:
  char* const start_;
  mutable std::mutex mutex_;
  std::size_t next_ = 0;                    // Guarded by mutex_.
  std::size_t in_use_ = 0;                  // Guarded by mutex_.
  std::map<void*, std::size_t> allocated_;  // Guarded by mutex_.
};

}  // namespace cavs_test

#endif  // CAVS_TESTS_ACCELERATOR_MEMORY_H_
