// The memory of a device.
#ifndef CAVS_CC_DEVICE_MEMORY_H_
#define CAVS_CC_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace cavs {

// Allocates the memory of one device. The host may read and write it only if
// is_host() is true.
//
// Thread safety: any thread may call any method at any time.
class Memory {
 public:
  // The alignment in bytes of every allocation, and of every buffer within one.
  static constexpr size_t kAlignment = 64;

  // `bytes` rounded up to a multiple of kAlignment; unchanged if that
  // overflows.
  static constexpr size_t Padded(size_t bytes) {
    const size_t whole = bytes / kAlignment * kAlignment;
    if (whole == bytes || whole > SIZE_MAX - kAlignment) return whole;
    return whole + kAlignment;
  }

  virtual ~Memory() = default;

  // Uninitialised memory, or null if there is not enough. `bytes` is a multiple
  // of kAlignment.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* data, size_t bytes) = 0;

  // Whether so many more bytes can be allocated; true if unknown.
  virtual bool MayProvide(size_t bytes) const = 0;
  virtual bool is_host() const = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_MEMORY_H_
