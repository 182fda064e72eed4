// Memory of the host, for devices that compute in it.
#ifndef CAVS_CC_DEVICE_HOST_MEMORY_H_
#define CAVS_CC_DEVICE_HOST_MEMORY_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "cc/base/machine.h"
#include "cc/device/memory.h"

namespace cavs {

// `may_fit` tells whether the system can still provide so many bytes.
class HostMemory : public Memory {
 public:
  explicit HostMemory(std::function<bool(size_t bytes)> may_fit = MayFit)
      : may_fit_(std::move(may_fit)) {}

  void* Allocate(size_t bytes) override;
  void Free(void* data, size_t bytes) override;
  bool MayProvide(size_t bytes) const override { return may_fit_(bytes); }
  bool is_host() const override { return true; }

 private:
  const std::function<bool(size_t bytes)> may_fit_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_HOST_MEMORY_H_
