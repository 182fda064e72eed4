#include "tests/cc/exec/test_device.h"

#include <memory>
#include <utility>
#include <vector>

namespace cavs {

template const TestDevice* The<CpuTestDevice>();
template const TestDevice* The<ReferenceTestDevice>();

const CudaTestDevice* TheGpu() {
  static const CudaTestDevice* const device = []() -> const CudaTestDevice* {
    std::shared_ptr<TestGpu> gpu = TestGpu::Open();
    return gpu == nullptr ? nullptr : new CudaTestDevice(std::move(gpu));
  }();
  return device;
}

std::vector<const TestDevice*> AllTestDevices() {
  std::vector<const TestDevice*> all = {
      The<CpuTestDevice>(),
      The<ReferenceTestDevice>(),
      The<MinimalTestDevice>(),
      The<LateTestDevice<Haste::kAsLateAsItMay>>(),
      The<LateTestDevice<Haste::kAtOnce>>(),
      The<ClosedTestDevice>()};
  if (TheGpu() != nullptr) all.push_back(TheGpu());
  return all;
}

}  // namespace cavs
