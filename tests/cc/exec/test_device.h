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
#include "tests/cc/exec/cuda_test_device.h"
#include "tests/cc/exec/late_device.h"

namespace cavs {

// What the executor runs with in a test.
struct Setting {
  // Used by the CPU only.
  Workers* workers = nullptr;  // Null: the calling thread.
  CpuCosts costs;
  const CpuBackend* kernels = nullptr;  // Null: the kernels of the CPU.
  // Runs the second stream; null: there is one stream. On devices other than
  // the CPU it only decides whether there are two streams.
  engine::Engine* engine = nullptr;

  std::function<bool()> cancelled;
  Tracer* tracer = nullptr;
  Tracer* outline = nullptr;
  std::function<void()> around;  // Called before and after the executor is.
};

// The streams of one call of the executor.
class TestStreams {
 public:
  virtual ~TestStreams() = default;
  virtual Stream* critical() = 0;
  virtual Stream* other() = 0;  // Null: there is one stream.
};

// A kind of device: makes devices, and whatever a test needs to run on one.
class TestDevice {
 public:
  virtual ~TestDevice() = default;

  virtual std::string name() const = 0;
  // A device that divides eager and lazy stages into blocks of at most that
  // many rows; 0: of any number.
  virtual std::shared_ptr<const Device> New(int64_t rows_per_block) const = 0;
  virtual std::unique_ptr<TestStreams> NewStreams(
      const Setting& setting) const = 0;

  // Memory of the device for arguments and results of the executor. The host
  // may access it in Touch() only.
  virtual std::shared_ptr<void> Allocate(size_t bytes) const {
    return std::shared_ptr<char[]>(new char[bytes]);
  }
  virtual void Touch(const std::function<void()>& touch) const { touch(); }
  // Makes a foreign operator whose kernels run on the device.
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
    // So that small minibatches have variants.
    options.nanos_per_program = options.nanos_per_weight_byte = 0;
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

// One or two streams.
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
  // Makes it run programs that were compiled for the CPU.
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

// Runs programs that were compiled for a device without any capabilities.
class MinimalTestDevice : public ReferenceTestDevice {
 public:
  std::string name() const override { return "Minimal"; }
  std::shared_ptr<const Device> New(int64_t rows_per_block) const override {
    ReferenceDevice::Options options = Options(rows_per_block);
    options.capabilities = Capabilities();
    return std::make_shared<ReferenceDevice>(options);
  }
};

// `kOther` says how soon the second of two streams does its work.
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
  // A foreign operator whose kernel runs on the device.
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

  // One memory for all devices, since a device may continue with what another
  // has written.
  const std::shared_ptr<ClosedMemory> memory_ =
      std::make_shared<ClosedMemory>();
};

// `walks` says whether tasks run by a walk: each of them is a kernel to
// compile, so that only some tests run so. `shares` says whether all work is
// put into the same streams, as in a framework; memory is then never waited
// for.
class CudaTestDevice : public TestDevice {
 public:
  explicit CudaTestDevice(std::shared_ptr<TestGpu> gpu, bool walks = false,
                          bool shares = false)
      : gpu_(std::move(gpu)), walks_(walks) {
    if (!shares) return;
    shared_ = NewStream();
    other_shared_ = NewStream();
  }

  std::string name() const override { return walks_ ? "CudaWalk" : "Cuda"; }
  const std::shared_ptr<TestGpu>& gpu() const { return gpu_; }
  std::shared_ptr<const Device> New(int64_t rows_per_block) const override {
    CudaDevice::Options options;
    options.rows_per_block = rows_per_block;
    // So that small minibatches have variants.
    options.nanos_per_program = 0;
    return std::make_shared<CudaDevice>(gpu_->kernels(), options);
  }
  std::unique_ptr<TestStreams> NewStreams(
      const Setting& setting) const override {
    return std::make_unique<SimpleStreams<CudaStream>>(
        StreamOf(shared_),
        setting.engine == nullptr ? nullptr : StreamOf(other_shared_));
  }
  std::shared_ptr<void> Allocate(size_t bytes) const override {
    return gpu_->AllocateForBoth(bytes);
  }
  void Touch(const std::function<void()>& touch) const override {
    gpu_->WaitForAll();
    touch();
  }
  std::shared_ptr<ForeignOp> Foreign(
      std::shared_ptr<ForeignOp> op) const override {
    return std::make_shared<OpOfGpu>(gpu_, std::move(op));
  }

 private:
  std::unique_ptr<CudaStream> StreamOf(
      const std::unique_ptr<CudaStream>& shared) const {
    if (shared == nullptr) return NewStream();
    auto own = std::make_unique<CudaStream>(gpu_->kernels(), shared->handle());
    own->set_walks(walks_);
    return own;
  }

  std::unique_ptr<CudaStream> NewStream() const {
    std::unique_ptr<CudaStream> stream;
    const Status status = CudaStream::New(gpu_->kernels(), &stream);
    if (!status.ok()) std::abort();
    stream->set_walks(walks_);
    return stream;
  }

  const std::shared_ptr<TestGpu> gpu_;
  const bool walks_;
  std::unique_ptr<CudaStream> shared_, other_shared_;
};

template <typename Kind>
const TestDevice* The() {
  static const Kind device;
  return &device;
}

extern template const TestDevice* The<CpuTestDevice>();
extern template const TestDevice* The<ReferenceTestDevice>();

// A GPU, if there is one; otherwise null.
const CudaTestDevice* TheGpu();

// All devices. A device that is added here gets all tests that any device must
// pass.
std::vector<const TestDevice*> AllTestDevices();

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_TEST_DEVICE_H_
