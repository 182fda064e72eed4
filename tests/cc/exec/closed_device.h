// A device with memory that the host may not touch.
#ifndef CAVS_TESTS_CC_EXEC_CLOSED_DEVICE_H_
#define CAVS_TESTS_CC_EXEC_CLOSED_DEVICE_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/device/reference/reference_device.h"
#include "tests/cc/exec/wrapping_device.h"

namespace cavs {

// Memory in protected pages: reading or writing it ends the process, unless it
// is open.
class ClosedMemory : public Memory {
 public:
  // The memory is open to all threads while one of these exists.
  class Opened {
   public:
    explicit Opened(const std::shared_ptr<ClosedMemory>& memory)
        : memory_(memory) {
      memory_->Open(1);
    }
    ~Opened() { memory_->Open(-1); }
    Opened(const Opened&) = delete;

   private:
    const std::shared_ptr<ClosedMemory> memory_;
  };

  void* Allocate(size_t bytes) override {
    std::lock_guard<std::mutex> lock(mutex_);
    void* data = mmap(nullptr, std::max<size_t>(bytes, 1), Protection(),
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    regions_[data] = std::max<size_t>(bytes, 1);
    return data;
  }
  void Free(void* data, size_t) override {
    std::lock_guard<std::mutex> lock(mutex_);
    munmap(data, regions_.at(data));
    regions_.erase(data);
  }
  bool MayProvide(size_t) const override { return true; }
  bool is_host() const override { return false; }

 private:
  int Protection() const {
    return num_opened_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  }

  void Open(int change) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int before = Protection();
    num_opened_ += change;
    if (Protection() == before) return;
    for (const auto& [data, bytes] : regions_) {
      if (mprotect(data, bytes, Protection()) != 0) std::abort();
    }
  }

  std::mutex mutex_;
  std::map<void*, size_t> regions_;  // GUARDED_BY(mutex_)
  int num_opened_ = 0;               // GUARDED_BY(mutex_)
};

// A stream that runs all work at once, with the memory open.
class ClosedStream : public WrappingStream {
 public:
  explicit ClosedStream(std::shared_ptr<ClosedMemory> memory)
      : memory_(std::move(memory)) {}

  // Work of the host, for which the memory stays closed.
  Status Call(std::function<Status()> work) override { return work(); }
  Status Do(Work work) override {
    const ClosedMemory::Opened opened(memory_);
    return work(&inner_);
  }
  std::shared_ptr<Event> Record() override { return nullptr; }
  Status Wait(std::shared_ptr<Event>) override { return Status(); }
  Status Synchronize() override { return Status(); }

 private:
  const std::shared_ptr<ClosedMemory> memory_;
  ReferenceStream inner_;
};

// Runs programs on the reference device, in ClosedStreams.
class ClosedDevice : public WrappingDevice {
 public:
  ClosedDevice(std::shared_ptr<ClosedMemory> memory,
               ReferenceDevice::Options options)
      : WrappingDevice(OfMemory(memory, std::move(options))),
        memory_(std::move(memory)) {}

  size_t BytesOfList(int64_t length) const override {
    return length * sizeof(int32_t);
  }
  Status Upload(const std::vector<Span<int32_t>>& lists, void* memory, Stream*,
                std::vector<const int32_t*>* on_device) const override {
    const ClosedMemory::Opened opened(memory_);
    int32_t* next = static_cast<int32_t*>(memory);
    for (const Span<int32_t>& list : lists) {
      on_device->push_back(next);
      next = std::copy(list.begin(), list.end(), next);
    }
    return Status();
  }

 protected:
  std::unique_ptr<BoundProgram> Bind(const Program&, const Executable& inner,
                                     Bindings* bindings) const override {
    return std::make_unique<ProgramInWrappingStream>(inner.Bind(bindings));
  }

 private:
  static std::shared_ptr<const Device> OfMemory(
      std::shared_ptr<ClosedMemory> memory, ReferenceDevice::Options options) {
    options.memory = std::move(memory);
    return std::make_shared<ReferenceDevice>(std::move(options));
  }

  const std::shared_ptr<ClosedMemory> memory_;
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_CLOSED_DEVICE_H_
