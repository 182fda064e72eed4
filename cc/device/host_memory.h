// Memory of the host, for devices that compute in it.
#ifndef CAVS_CC_DEVICE_HOST_MEMORY_H_
#define CAVS_CC_DEVICE_HOST_MEMORY_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "cc/base/machine.h"
#include "cc/base/span.h"
#include "cc/device/memory.h"

namespace cavs {

// The addresses of lists of row numbers, for devices that read them where they
// are. Never null: see Device::Upload().
std::vector<const int32_t*> ListsOfHost(
    const std::vector<Span<int32_t>>& lists);

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
