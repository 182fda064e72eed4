// A slow and simple device: the oracle for all others.
#ifndef CAVS_CC_DEVICE_REFERENCE_REFERENCE_DEVICE_H_
#define CAVS_CC_DEVICE_REFERENCE_REFERENCE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/device/device.h"
#include "cc/device/host_memory.h"

namespace cavs {

// Does all work at once, on the calling thread.
class ReferenceStream : public Stream {
 public:
  Status Call(std::function<Status()> work) override { return work(); }
  Status Zero(void* to, size_t bytes) override;
  Status Copy(void* to, const void* from, size_t bytes) override;
  Status Add(DType dtype, const void* terms, int64_t n, void* sums) override;
  Status ClearUnlessFinite(DType dtype, const void* numbers, int64_t n,
                           bool* finite) override;
  std::shared_ptr<Event> Record() override { return nullptr; }
  Status Wait(std::shared_ptr<Event>) override { return Status(); }
  Status Synchronize() override { return Status(); }
};

// Evaluates programs node by node, and each node row by row, in double
// precision, rounding when values are written. Accepts any stream, which it
// only passes on to foreign operators.
class ReferenceDevice : public Device {
 public:
  struct Options {
    // The device runs programs that were compiled for any capabilities. With
    // those of another device, it runs the programs of that device.
    Capabilities capabilities;
    int64_t rows_per_block = 64;
    std::shared_ptr<Memory> memory = std::make_shared<HostMemory>();
  };

  ReferenceDevice() : ReferenceDevice(Options()) {}
  explicit ReferenceDevice(Options options) : options_(std::move(options)) {}

  Capabilities capabilities() const override { return options_.capabilities; }
  std::shared_ptr<Memory> memory() const override { return options_.memory; }
  double NanosPerProgram(int64_t) const override { return 0; }
  int64_t RowsPerBlock(int64_t) const override {
    return options_.rows_per_block;
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

#endif  // CAVS_CC_DEVICE_REFERENCE_REFERENCE_DEVICE_H_
