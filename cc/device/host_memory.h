// Memory of the host, for devices that compute in it.
#ifndef CAVS_CC_DEVICE_HOST_MEMORY_H_
#define CAVS_CC_DEVICE_HOST_MEMORY_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "cc/base/machine.h"
#include "cc/device/memory.h"

namespace cavs {

// `available` returns the bytes that the system can still provide.
class HostMemory : public Memory {
 public:
  explicit HostMemory(std::function<size_t()> available = AvailableMemory)
      : available_(std::move(available)) {}

  void* Allocate(size_t bytes) override;
  void Free(void* data, size_t bytes) override;
  size_t available_bytes() const override { return available_(); }
  bool is_host() const override { return true; }

 private:
  const std::function<size_t()> available_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_HOST_MEMORY_H_
