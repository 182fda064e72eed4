// The CPU as a device.
#ifndef CAVS_CC_DEVICE_CPU_CPU_DEVICE_H_
#define CAVS_CC_DEVICE_CPU_CPU_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/machine.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/device.h"
#include "cc/device/host_memory.h"

namespace cavs {

// Columns of products are divided among workers in multiples of this, whatever
// the instruction set and the type: the widest vector has so many float32.
constexpr int64_t kColumnGrain = 16;

// Programs are compiled to phases (see phases.h) of the CPU's kernels, and run
// in a CpuStream with its workers.
//
// Example:
//   const CpuDevice device;
//   Team team(...);
//   InlineStream stream(&team);
//   StepContext context{&device, &stream};
class CpuDevice : public Device {
 public:
  struct Options {
    // Eager and lazy stages run over as many rows at a time as fit into the
    // cache that a worker has to itself, of which two workers fill half each,
    // but not over fewer than `fewest_rows`: these would not pay for reading
    // and writing the sums that they add to.
    size_t cache_bytes = CacheBytes();
    int64_t fewest_rows = 256;
    double nanos_per_program = 50000;
    double nanos_per_weight_byte = 0.03;
    std::shared_ptr<Memory> memory = std::make_shared<HostMemory>();
    Isa isa = BestIsa();
  };

  CpuDevice() : CpuDevice(Options()) {}
  explicit CpuDevice(Options options) : options_(std::move(options)) {}

  Capabilities capabilities() const override;
  std::shared_ptr<Memory> memory() const override { return options_.memory; }
  int64_t RowsPerBlock(int64_t bytes_per_row) const override;
  double NanosPerProgram(int64_t weight_bytes) const override {
    return options_.nanos_per_program +
           options_.nanos_per_weight_byte * static_cast<double>(weight_bytes);
  }
  Status Upload(const std::vector<Span<int32_t>>& lists, void*, Stream*,
                std::vector<const int32_t*>* on_device) const override {
    *on_device = ListsOfHost(lists);
    return Status();
  }
  std::unique_ptr<Executable> Compile(
      const CompiledProgram& program) const override;

 private:
  const Options options_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_CPU_DEVICE_H_
