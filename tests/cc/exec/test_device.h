// The devices that tests of the executor run on.
#ifndef CAVS_TESTS_CC_EXEC_TEST_DEVICE_H_
#define CAVS_TESTS_CC_EXEC_TEST_DEVICE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/device/cpu/cpu_device.h"
#include "cc/device/cpu/cpu_stream.h"
#include "cc/device/reference/reference_device.h"
#include "tests/cc/exec/closed_device.h"
#include "tests/cc/exec/late_device.h"

namespace cavs {

// With what the executor runs in a test.
struct Setting {
  // Of the CPU alone.
  Workers* workers = nullptr;  // Null: the calling thread alone.
  CpuCosts costs;
  const CpuBackend* kernels = nullptr;  // Null: the CPU's.
  // Of two streams; null: there is one. Other devices than the CPU only look
  // whether it is there.
  engine::Engine* engine = nullptr;

  std::function<bool()> cancelled;
  Tracer* tracer = nullptr;
};

// The streams of one call of the executor.
class TestStreams {
 public:
  virtual ~TestStreams() = default;
  virtual Stream* critical() = 0;
  virtual Stream* other() = 0;  // Null: there is one.
};

// A kind of device: makes devices, and all that a test needs to run on one.
class TestDevice {
 public:
  virtual ~TestDevice() = default;

  virtual std::string name() const = 0;
  // Eager and lazy stages run over at most so many rows at a time; 0: over as
  // many as the device likes.
  virtual std::shared_ptr<const Device> New(int64_t rows_per_block) const = 0;
  virtual std::unique_ptr<TestStreams> NewStreams(
      const Setting& setting) const = 0;

  // Memory of the device for what passes in and out of the executor. The host
  // may touch it in Touch() only.
  virtual std::shared_ptr<void> Allocate(size_t bytes) const {
    return std::shared_ptr<char[]>(new char[bytes]);
  }
  virtual void Touch(const std::function<void()>& touch) const { touch(); }
  // An operator of a framework whose kernels run on the device.
  virtual std::shared_ptr<ForeignOp> Foreign(
      std::shared_ptr<ForeignOp> op) const {
    return op;
  }
};

class CpuTestDevice : public TestDevice {
 public:
  std::string name() const override { return "Cpu"; }
  std::shared_ptr<const Device> New(int64_t rows_per_block) const override {
    CpuDevice::Options options;
    if (rows_per_block > 0) {
      options.cache_bytes = 0;
      options.fewest_rows = rows_per_block;
    }
    return std::make_shared<CpuDevice>(options);
  }
  std::unique_ptr<TestStreams> NewStreams(
      const Setting& setting) const override {
    return std::make_unique<Streams>(setting);
  }

 private:
  class Streams : public TestStreams {
   public:
    explicit Streams(const Setting& setting) {
      Workers* const workers =
          setting.workers == nullptr ? &alone_ : setting.workers;
      if (setting.engine != nullptr) {
        two_.emplace(setting.engine, workers, setting.costs);
      } else if (setting.kernels != nullptr) {
        one_.emplace(setting.kernels);
      } else {
        one_.emplace(workers, setting.costs);
      }
    }
    Stream* critical() override {
      return two_.has_value() ? two_->critical() : &*one_;
    }
    Stream* other() override {
      return two_.has_value() ? two_->other() : nullptr;
    }

   private:
    SerialWorkers alone_;
    std::optional<InlineStream> one_;
    std::optional<TwoCpuStreams> two_;
  };
};

// One stream, or two.
template <typename OneStream>
class SimpleStreams : public TestStreams {
 public:
  SimpleStreams(std::unique_ptr<OneStream> critical,
                std::unique_ptr<OneStream> other)
      : critical_(std::move(critical)), other_(std::move(other)) {}
  Stream* critical() override { return critical_.get(); }
  Stream* other() override { return other_.get(); }

 private:
  const std::unique_ptr<OneStream> critical_, other_;
};

class ReferenceTestDevice : public TestDevice {
 public:
  // Runs programs as they are compiled for the CPU.
  static ReferenceDevice::Options Options(int64_t rows_per_block) {
    ReferenceDevice::Options options;
    options.capabilities = CpuDevice().capabilities();
    if (rows_per_block > 0) options.rows_per_block = rows_per_block;
    return options;
  }

  std::string name() const override { return "Reference"; }
  std::shared_ptr<const Device> New(int64_t rows_per_block) const override {
    return std::make_shared<ReferenceDevice>(Options(rows_per_block));
  }
  std::unique_ptr<TestStreams> NewStreams(
      const Setting& setting) const override {
    return std::make_unique<SimpleStreams<ReferenceStream>>(
        std::make_unique<ReferenceStream>(),
        setting.engine == nullptr ? nullptr
                                  : std::make_unique<ReferenceStream>());
  }
};

// Runs programs that were compiled for a device that can do nothing special.
class MinimalTestDevice : public ReferenceTestDevice {
 public:
  std::string name() const override { return "Minimal"; }
  std::shared_ptr<const Device> New(int64_t rows_per_block) const override {
    ReferenceDevice::Options options = Options(rows_per_block);
    options.capabilities = Capabilities();
    return std::make_shared<ReferenceDevice>(options);
  }
};

// The second of two streams may be hastier than the first.
template <Haste kOther>
class LateTestDevice : public TestDevice {
 public:
  explicit LateTestDevice(std::atomic<int>* num_synchronized = nullptr)
      : num_synchronized_(num_synchronized) {}

  std::string name() const override {
    return kOther == Haste::kAtOnce ? "Hasty" : "Late";
  }
  std::shared_ptr<const Device> New(int64_t rows_per_block) const override {
    return std::make_shared<LateDevice>(std::make_shared<ReferenceDevice>(
        ReferenceTestDevice::Options(rows_per_block)));
  }
  std::unique_ptr<TestStreams> NewStreams(
      const Setting& setting) const override {
    const auto make = [this](Haste haste) {
      return std::make_unique<LateStream>(haste, num_synchronized_);
    };
    return std::make_unique<SimpleStreams<LateStream>>(
        make(Haste::kAsLateAsItMay),
        setting.engine == nullptr ? nullptr : make(kOther));
  }

 private:
  std::atomic<int>* const num_synchronized_;
};

class ClosedTestDevice : public TestDevice {
 public:
  std::string name() const override { return "Closed"; }
  std::shared_ptr<const Device> New(int64_t rows_per_block) const override {
    return std::make_shared<ClosedDevice>(
        memory_, ReferenceTestDevice::Options(rows_per_block));
  }
  std::unique_ptr<TestStreams> NewStreams(
      const Setting& setting) const override {
    return std::make_unique<SimpleStreams<ClosedStream>>(
        std::make_unique<ClosedStream>(memory_),
        setting.engine == nullptr ? nullptr
                                  : std::make_unique<ClosedStream>(memory_));
  }
  std::shared_ptr<void> Allocate(size_t bytes) const override {
    return {memory_->Allocate(bytes), [memory = memory_, bytes](void* data) {
              memory->Free(data, bytes);
            }};
  }
  void Touch(const std::function<void()>& touch) const override {
    const ClosedMemory::Opened opened(memory_);
    touch();
  }
  std::shared_ptr<ForeignOp> Foreign(
      std::shared_ptr<ForeignOp> op) const override {
    return std::make_shared<OpenedOp>(memory_, std::move(op));
  }

 private:
  // Its kernel runs on the device.
  class OpenedOp : public ForeignOp {
   public:
    OpenedOp(std::shared_ptr<ClosedMemory> memory,
             std::shared_ptr<ForeignOp> inner)
        : memory_(std::move(memory)), inner_(std::move(inner)) {}
    Status Run(void* host, const std::vector<TensorRef>& inputs,
               std::vector<TensorRef>* outputs) const override {
      const ClosedMemory::Opened opened(memory_);
      return inner_->Run(host, inputs, outputs);
    }

   private:
    const std::shared_ptr<ClosedMemory> memory_;
    const std::shared_ptr<ForeignOp> inner_;
  };

  // Of all devices: what one leaves another may go on with.
  const std::shared_ptr<ClosedMemory> memory_ =
      std::make_shared<ClosedMemory>();
};

template <typename Kind>
const TestDevice* The() {
  static const Kind device;
  return &device;
}

// A new device gets all tests that any device must pass by its line here.
inline std::vector<const TestDevice*> AllTestDevices() {
  return {The<CpuTestDevice>(),
          The<ReferenceTestDevice>(),
          The<MinimalTestDevice>(),
          The<LateTestDevice<Haste::kAsLateAsItMay>>(),
          The<LateTestDevice<Haste::kAtOnce>>(),
          The<ClosedTestDevice>()};
}

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_TEST_DEVICE_H_
