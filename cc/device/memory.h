// Where a device's memory comes from.
#ifndef CAVS_CC_DEVICE_MEMORY_H_
#define CAVS_CC_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace cavs {

// The memory of one device. The host may touch it only if is_host() says so.
//
// Thread safety: any thread may call any method at any time.
class Memory {
 public:
  // Every allocation begins at a multiple of this, and so does every buffer
  // within one.
  static constexpr size_t kAlignment = 64;

  // `bytes` rounded up to a multiple of kAlignment; those that cannot be
  // rounded up stay as they are.
  static constexpr size_t Padded(size_t bytes) {
    const size_t whole = bytes / kAlignment * kAlignment;
    if (whole == bytes || whole > SIZE_MAX - kAlignment) return whole;
    return whole + kAlignment;
  }

  virtual ~Memory() = default;

  // Uninitialised; null if there is not as much. `bytes` is a multiple of
  // kAlignment.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* data, size_t bytes) = 0;

  // What could still be allocated, as far as is known; else SIZE_MAX.
  virtual size_t available_bytes() const = 0;
  virtual bool is_host() const = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_MEMORY_H_
